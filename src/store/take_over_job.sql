-- A job that has run keeps what was predicted before. The first in rank stands for all combinations with one identity.

UPDATE job SET (sweep_id, rank, cluster_id, model_id, training_id, parallel_id, derived, devices, timeout_ms,
  idle_timeout_ms, startup_timeout_ms, predicted_memory, predicted_memory_of, predicted_time, risk, audit, priority)
 = (SELECT ?1, n.rank, n.cluster_id, n.model_id, n.training_id, n.parallel_id, n.derived, n.devices, n.timeout_ms,
     n.idle_timeout_ms, n.startup_timeout_ms,
     iif(state = 'pending', n.predicted_memory, job.predicted_memory),
     iif(state = 'pending', n.predicted_memory_of, job.predicted_memory_of),
     iif(state = 'pending', n.predicted_time, job.predicted_time),
     iif(state = 'pending', n.risk, job.risk),
     iif(state = 'pending', n.audit, job.audit), n.priority
    FROM waiting_job AS n WHERE n.number = ?2)
WHERE key = ?3 AND (sweep_id <> ?1 OR rank >= ?4 OR rank < 0)
