-- A database whose 84 jobs are ok, of a sweep with tied keys, unions, derived keys and rules over several sections, as
-- the program of schema version 12 listed them, which expanded every section into a table.
PRAGMA application_id = 1836279927;
PRAGMA user_version = 12;
BEGIN TRANSACTION;
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES('identity','00112233445566778899aabbccddeeff');
CREATE TABLE sweep (
    id           INTEGER PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    name         TEXT NOT NULL,
    path         TEXT NOT NULL,
    text         TEXT NOT NULL,
    profile_text TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    objective    TEXT,                  -- metric name; NULL: none declared
    maximise     INTEGER NOT NULL DEFAULT 0 CHECK (maximise IN (0, 1)),
    first_seen   INTEGER NOT NULL,
    last_seen    INTEGER NOT NULL,
    combinations INTEGER,
    matched      INTEGER,
    duplicates   INTEGER,
    jobs         INTEGER,
    enumerated   INTEGER NOT NULL DEFAULT 0 CHECK (enumerated IN (0, 1))
, model_info TEXT CHECK (model_info IS NULL OR json_valid(model_info)), role TEXT);
INSERT INTO sweep VALUES(1,X'0fae0202b92c741184bbe0bae87e28ae','listed','sweep.toml',replace('[sweep]\nname = "listed"\nnote = ["owner"]\ndisable_rules = ["layers-divide-by-pp"]\n\n[job]\ncommand = ["/bin/true", "{layers}", "{tp}", "{micro_batch}", "{groups}"]\n\n[[model]]\nname = "small"\nowner = "a"\nlayers = [2, 4]\n"(hidden, heads)" = [[64, 4], [96, 6]]\n\n[[model]]\nlayers = 6\nhidden = 128\nheads = 8\nexperts = [2, 4]\n\n[[cluster_spec]]\nnum_hosts = 1\nnum_devices_per_host = [2, 4]\n\n[[training_spec]]\nglobal_batch = 16\n\n[[parallel_spec]]\n"(tp, pp)" = [[1, 1], [2, 1], [1, 2], [2, 2]]\nmicro_batch = [1, 2.0, 4]\n\n[[parallel_spec]]\npp = 2\nzero_stage = [0, 1]\n\n[derive]\ndp = "gpus / (coalesce(tp, 1) * coalesce(pp, 1))"\ngroups = "dp * coalesce(micro_batch, 1)"\n\n[[rule]]\nname = "sum"\nrequire = "(layers + coalesce(micro_batch, 3) + gpus) % 3 <> 1"\n\n[[rule]]\nname = "experts-fit"\nrequire = "experts % coalesce(tp, 1) = 0 OR hidden < 100"\n','\n',char(10)),'','0.1.0',NULL,0,1700000000000,1700000000000,168,84,0,84,1,NULL,NULL);
CREATE TABLE spec (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind = 'cluster_spec' OR kind = 'model' OR kind = 'training_spec' OR kind = 'parallel_spec'),
    hash BLOB NOT NULL CHECK (length(hash) = 16),
    name TEXT,
    json TEXT NOT NULL CHECK (json_valid(json)), identity BLOB CHECK (identity IS NULL OR length(identity) = 16),
    UNIQUE (kind, hash)
);
INSERT INTO spec VALUES(1,'cluster_spec',X'b7494c4ebeeea658156d08eb60f7586f',NULL,'{"num_devices_per_host":2,"num_hosts":1}',NULL);
INSERT INTO spec VALUES(2,'model',X'ea3d1ca9c4161729fe85a62771475f6e','small','{"heads":4,"hidden":64,"layers":2,"name":"small","owner":"a"}',NULL);
INSERT INTO spec VALUES(3,'training_spec',X'f1b15df6dd5dcff6bab55390e63c1536',NULL,'{"global_batch":16}',NULL);
INSERT INTO spec VALUES(4,'parallel_spec',X'154f6cbb5a3b521cc4309cdb01052d59',NULL,'{"micro_batch":1,"pp":1,"tp":1}',NULL);
INSERT INTO spec VALUES(5,'model',X'adf81e6517a9b26bc97cf38dd9cd1ad1','small','{"heads":6,"hidden":96,"layers":2,"name":"small","owner":"a"}',NULL);
INSERT INTO spec VALUES(6,'model',X'c4ca529e1080400668c49616bbd85491',NULL,'{"experts":2,"heads":8,"hidden":128,"layers":6}',NULL);
INSERT INTO spec VALUES(7,'model',X'041488f3fc80364aaebc601954b88252',NULL,'{"experts":4,"heads":8,"hidden":128,"layers":6}',NULL);
INSERT INTO spec VALUES(8,'cluster_spec',X'623b3d6fbbd3b6eeff31f32a8ac6697f',NULL,'{"num_devices_per_host":4,"num_hosts":1}',NULL);
INSERT INTO spec VALUES(9,'model',X'c8508c12adb4905d729fb204bfec1419','small','{"heads":4,"hidden":64,"layers":4,"name":"small","owner":"a"}',NULL);
INSERT INTO spec VALUES(10,'model',X'1729c29751c89f8fb0a3784b285a1dae','small','{"heads":6,"hidden":96,"layers":4,"name":"small","owner":"a"}',NULL);
INSERT INTO spec VALUES(11,'parallel_spec',X'6f988de2d77fdf934398183b1a183930',NULL,'{"micro_batch":2.0,"pp":1,"tp":1}',NULL);
INSERT INTO spec VALUES(12,'parallel_spec',X'60886538fcb2ffa0a5cf4799eb3aff65',NULL,'{"micro_batch":4,"pp":1,"tp":1}',NULL);
INSERT INTO spec VALUES(13,'parallel_spec',X'a185539a843b21c4f55e987575f24a73',NULL,'{"micro_batch":1,"pp":1,"tp":2}',NULL);
INSERT INTO spec VALUES(14,'parallel_spec',X'37c1c35ce416eba72c0dc2381e70197c',NULL,'{"micro_batch":2.0,"pp":1,"tp":2}',NULL);
INSERT INTO spec VALUES(15,'parallel_spec',X'46e8eab1b0462dd4e28c590839349f62',NULL,'{"micro_batch":4,"pp":1,"tp":2}',NULL);
INSERT INTO spec VALUES(16,'parallel_spec',X'7949536bb9be12f763acbe941d5266d0',NULL,'{"micro_batch":1,"pp":2,"tp":1}',NULL);
INSERT INTO spec VALUES(17,'parallel_spec',X'b1cff8bbe23681760c5e9d427cdd4f02',NULL,'{"micro_batch":2.0,"pp":2,"tp":1}',NULL);
INSERT INTO spec VALUES(18,'parallel_spec',X'e7d72dafc10bea6fc68724ecd36198d6',NULL,'{"micro_batch":4,"pp":2,"tp":1}',NULL);
INSERT INTO spec VALUES(19,'parallel_spec',X'65221373a827006d5a403188479274d1',NULL,'{"micro_batch":1,"pp":2,"tp":2}',NULL);
INSERT INTO spec VALUES(20,'parallel_spec',X'94141453be2514feb64f7b5df84b2add',NULL,'{"micro_batch":2.0,"pp":2,"tp":2}',NULL);
INSERT INTO spec VALUES(21,'parallel_spec',X'977660290762245016a95772b99888e5',NULL,'{"micro_batch":4,"pp":2,"tp":2}',NULL);
CREATE TABLE rule (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    require  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    source   TEXT NOT NULL,
    level    TEXT NOT NULL CHECK (level IN ('exclude', 'warn')),
    excluded INTEGER NOT NULL,          -- combinations for which this is the first rule that fails
    alone    INTEGER,                   -- combinations that it fails whatever the others say; NULL: too many to count
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;
INSERT INTO rule VALUES(1,0,'world-size',replace('CASE WHEN coalesce(dp, tp, pp, op, mp, cp) IS NOT NULL\n       THEN coalesce(dp, 1) * coalesce(tp, 1) * coalesce(pp, 1) * coalesce(op, 1) * coalesce(mp, 1) * coalesce(cp, 1)\n            = gpus END','\n',char(10)),'the parallel degrees must multiply to the number of devices','Megatron-LM arguments.py: world size = data x tensor x pipeline x context parallel size; ZHEN codesign config.py','exclude',18,18);
INSERT INTO rule VALUES(1,1,'batch-divides','global_batch % (micro_batch * coalesce(dp, gpus / (coalesce(tp, op, mp, 1) * coalesce(pp, 1) * coalesce(cp, 1)))) = 0','global batch must be a multiple of micro-batch x data-parallel degree','Megatron-LM num_microbatches_calculator.py','exclude',0,0);
INSERT INTO rule VALUES(1,2,'hidden-divides-by-heads','hidden % heads = 0','hidden size must be a multiple of the number of attention heads','Megatron-LM arguments.py: kv_channels = hidden_size / num_attention_heads','exclude',0,0);
INSERT INTO rule VALUES(1,3,'heads-divide-by-tp','heads % coalesce(tp, op, mp) = 0','attention heads must be a multiple of the tensor-parallel degree','Megatron-LM transformer_config.py','exclude',0,0);
INSERT INTO rule VALUES(1,4,'tp-within-node','coalesce(tp, op, mp) <= gpus_per_node','tensor parallelism across nodes is usually slower than any alternative','Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 5.4','warn',0,0);
INSERT INTO rule VALUES(1,5,'sum','(layers + coalesce(micro_batch, 3) + gpus) % 3 <> 1','','sweep file','exclude',50,56);
INSERT INTO rule VALUES(1,6,'experts-fit','experts % coalesce(tp, 1) = 0 OR hidden < 100','','sweep file','exclude',0,0);
INSERT INTO rule VALUES(1,7,'binds-tp','"tp" IS NOT NULL','the job''s command, environment or directory needs {tp}, which this combination does not bind','[job]','exclude',16,24);
INSERT INTO rule VALUES(1,8,'binds-micro_batch','"micro_batch" IS NOT NULL','the job''s command, environment or directory needs {micro_batch}, which this combination does not bind','[job]','exclude',0,24);
INSERT INTO rule VALUES(1,9,'binds-groups','"groups" IS NOT NULL','the job''s command, environment or directory needs {groups}, which this combination does not bind','[job]','exclude',0,0);
CREATE TABLE exclusion (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    rank     INTEGER NOT NULL,          -- the combination's place in the product of the specs
    "values" TEXT NOT NULL CHECK (json_valid("values")),
    FOREIGN KEY (sweep_id, position) REFERENCES rule (sweep_id, position) ON DELETE CASCADE
);
CREATE TABLE job (
    id                 INTEGER PRIMARY KEY,
    key                BLOB NOT NULL UNIQUE CHECK (length(key) = 16),
    sweep_id           INTEGER NOT NULL REFERENCES sweep (id),   -- the sweep that last asked for it
    rank               INTEGER NOT NULL,                          -- its place in that sweep
    cluster_id         INTEGER REFERENCES spec (id),
    model_id           INTEGER REFERENCES spec (id),
    training_id        INTEGER REFERENCES spec (id),
    parallel_id        INTEGER REFERENCES spec (id),
    derived            TEXT,                                      -- JSON object of the derived keys
    devices            INTEGER NOT NULL DEFAULT 1,
    timeout_ms         INTEGER,                                   -- NULL: none
    idle_timeout_ms    INTEGER,
    startup_timeout_ms INTEGER,
    state              TEXT NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'running' OR state = 'ok' OR state = 'failed'),
    failure            TEXT CHECK (failure IS NULL OR failure = 'exit' OR failure = 'signal' OR failure = 'oom' OR failure = 'oom-host'
                                        OR failure = 'timeout' OR failure = 'hang' OR failure = 'no-metric'
                                        OR failure = 'spawn' OR failure = 'lost' OR failure = 'cancelled'),
    attempt_id         INTEGER,                                   -- the attempt that stands for the job
    predicted_memory   REAL,
    predicted_time     REAL, priority INTEGER NOT NULL DEFAULT 0, risk INTEGER CHECK (risk = 1 OR risk = 2 OR risk = 3), audit INTEGER NOT NULL DEFAULT 0 CHECK (audit IN (0, 1)), due INTEGER, witness_id INTEGER CHECK (witness_id IS NULL OR state = 'pending'),
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);
INSERT INTO job VALUES(1,X'f0f75dbbd4ce2ed92cf126998c9b6afd',1,0,1,2,3,4,'{"dp":2,"groups":2}',2,600000,NULL,NULL,'ok',NULL,1,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(2,X'013fa856ed20a6c1843d754f96447413',1,14,1,5,3,4,'{"dp":2,"groups":2}',2,600000,NULL,NULL,'ok',NULL,10,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(3,X'c5d0b31c0cc06adaa84e4373a9768a74',1,56,1,6,3,4,'{"dp":2,"groups":2}',2,600000,NULL,NULL,'ok',NULL,25,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(4,X'4d14e675fb93249bddd7e83f0a4f59de',1,70,1,7,3,4,'{"dp":2,"groups":2}',2,600000,NULL,NULL,'ok',NULL,31,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(5,X'c254f160f2a99d30ff828bc3487396bb',1,112,8,9,3,4,'{"dp":4,"groups":4}',4,600000,NULL,NULL,'ok',NULL,45,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(6,X'0349c6d089cd88d4dba7ea8b28774ad5',1,126,8,10,3,4,'{"dp":4,"groups":4}',4,600000,NULL,NULL,'ok',NULL,53,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(7,X'57e1a34996adb48a66541ac2a3d1365e',1,140,8,6,3,4,'{"dp":4,"groups":4}',4,600000,NULL,NULL,'ok',NULL,61,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(8,X'13d577db2d062285cd43484abadeb11d',1,154,8,7,3,4,'{"dp":4,"groups":4}',4,600000,NULL,NULL,'ok',NULL,73,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(9,X'92cb41c2c6b5e4fd2bb4b26e80b18385',1,1,1,2,3,11,'{"dp":2,"groups":4.0}',2,600000,NULL,NULL,'ok',NULL,2,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(10,X'4e8aae98d12690e7b1ae44d45f93ecd2',1,15,1,5,3,11,'{"dp":2,"groups":4.0}',2,600000,NULL,NULL,'ok',NULL,11,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(11,X'cd1ff0414bb7eab1d10930636d2413c6',1,29,1,9,3,11,'{"dp":2,"groups":4.0}',2,600000,NULL,NULL,'ok',NULL,19,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(12,X'fdb50a2166c06797f9e4b926ffde2685',1,43,1,10,3,11,'{"dp":2,"groups":4.0}',2,600000,NULL,NULL,'ok',NULL,22,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(13,X'd1b51a37e90055e0e61c7482caba32d8',1,85,8,2,3,11,'{"dp":4,"groups":8.0}',4,600000,NULL,NULL,'ok',NULL,37,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(14,X'978da65ed3facf94b67a7b015d8d5fda',1,99,8,5,3,11,'{"dp":4,"groups":8.0}',4,600000,NULL,NULL,'ok',NULL,41,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(15,X'0d4f55fa8d9cd8c58833ec1d4493f5be',1,141,8,6,3,11,'{"dp":4,"groups":8.0}',4,600000,NULL,NULL,'ok',NULL,62,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(16,X'e59216ebae1a3fca1bf647cd4435bf16',1,155,8,7,3,11,'{"dp":4,"groups":8.0}',4,600000,NULL,NULL,'ok',NULL,74,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(17,X'679e21b5b0b9880b10a308ba058c71ec',1,2,1,2,3,12,'{"dp":2,"groups":8}',2,600000,NULL,NULL,'ok',NULL,3,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(18,X'dadce649e43daaa1636f0c29cb04b81a',1,16,1,5,3,12,'{"dp":2,"groups":8}',2,600000,NULL,NULL,'ok',NULL,12,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(19,X'1cfcec5b5760792c8e187ba40d861625',1,58,1,6,3,12,'{"dp":2,"groups":8}',2,600000,NULL,NULL,'ok',NULL,26,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(20,X'd8217fd3d0bab537e5d74d05da1adf22',1,72,1,7,3,12,'{"dp":2,"groups":8}',2,600000,NULL,NULL,'ok',NULL,32,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(21,X'592be9702dfb6018f6479e9231d3a910',1,114,8,9,3,12,'{"dp":4,"groups":16}',4,600000,NULL,NULL,'ok',NULL,46,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(22,X'e87eba70429514031f0cc353024ba5ea',1,128,8,10,3,12,'{"dp":4,"groups":16}',4,600000,NULL,NULL,'ok',NULL,54,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(23,X'5c0c1c39315f16896e17f693f824df23',1,142,8,6,3,12,'{"dp":4,"groups":16}',4,600000,NULL,NULL,'ok',NULL,63,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(24,X'5a12d44ce7560fa08001235848ebee7d',1,156,8,7,3,12,'{"dp":4,"groups":16}',4,600000,NULL,NULL,'ok',NULL,75,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(25,X'1021ce049018e1851ec70c5082ff9ec6',1,3,1,2,3,13,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,4,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(26,X'd882ab723b220032ef3b858d757ace7d',1,17,1,5,3,13,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,13,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(27,X'b54ec915223fdf28fbe617bb3d812d91',1,59,1,6,3,13,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,27,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(28,X'4cb1caa8ec18e872298a77b255f9dd43',1,73,1,7,3,13,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,33,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(29,X'277c382998a4f87e26f6cf36066c6654',1,115,8,9,3,13,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,47,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(30,X'afddc5124469957fb9555894e124c093',1,129,8,10,3,13,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,55,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(31,X'6d42c0a98b7a3cfda808d25f9c8e46e3',1,143,8,6,3,13,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,64,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(32,X'cd2587bc7fea55d463d36f9dc6e1bb64',1,157,8,7,3,13,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,76,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(33,X'0d08eda38dbf3df41c0051d1acac6705',1,4,1,2,3,14,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,5,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(34,X'3ef0f2be5cf2454197f90cd55376d74a',1,18,1,5,3,14,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,14,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(35,X'9c873371e94ec8d57e3eef468bc8b08a',1,32,1,9,3,14,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,20,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(36,X'c8d523ccbe690a2a38f5c39cfdd4b2be',1,46,1,10,3,14,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,23,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(37,X'88d774d7f738107993786955097986f1',1,88,8,2,3,14,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,38,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(38,X'311e9432e78975490400176455206f59',1,102,8,5,3,14,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,42,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(39,X'033cd85aeeaceff1fb6ca8efa7669c93',1,144,8,6,3,14,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,65,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(40,X'9b1ebff3d35d2de541e0bfdda8c52c61',1,158,8,7,3,14,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,77,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(41,X'68fdd0c23bd963a7bdd97cf6778181a9',1,5,1,2,3,15,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,6,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(42,X'9bba595f5977c16a8bd6b66d89516ad5',1,19,1,5,3,15,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,15,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(43,X'fedb52a1f2744c36f2a53a26406a02bf',1,61,1,6,3,15,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,28,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(44,X'52a20a278e03c321c47007cd9eb546c5',1,75,1,7,3,15,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,34,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(45,X'964bd19c359245e39fa8eb3f94675a61',1,117,8,9,3,15,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,48,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(46,X'c06069e713bdfddd228ef80c846ad8a5',1,131,8,10,3,15,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,56,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(47,X'd8fb4333aa1e24f1b82203a26d5de86c',1,145,8,6,3,15,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,66,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(48,X'eb63e6d3a790caa06326c596b9581ef2',1,159,8,7,3,15,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,78,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(49,X'66be713f57a43565dbe7187ef0cca41a',1,6,1,2,3,16,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,7,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(50,X'c71c7f7c2300754aa14d3612178af9df',1,20,1,5,3,16,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,16,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(51,X'5d427e0643955d29bd84146e5fc77c0c',1,62,1,6,3,16,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,29,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(52,X'f818a4371c6cad8b3aea4eca5cb05df8',1,76,1,7,3,16,'{"dp":1,"groups":1}',2,600000,NULL,NULL,'ok',NULL,35,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(53,X'75f4d4219a4a1b1fe4e393e894a78c57',1,118,8,9,3,16,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,49,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(54,X'3e6b1d14778725669941fb4d080a6f0c',1,132,8,10,3,16,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,57,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(55,X'51942f1d3b7e27875461207dee5142b8',1,146,8,6,3,16,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,67,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(56,X'523a0521d20d85a2a386d21167916848',1,160,8,7,3,16,'{"dp":2,"groups":2}',4,600000,NULL,NULL,'ok',NULL,79,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(57,X'7249710fe6ff59584672579cd29a29c5',1,7,1,2,3,17,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,8,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(58,X'ce747c2858d1488f6f5540f39b20fc27',1,21,1,5,3,17,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,17,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(59,X'32dd18b1fdbe3ba447fbf4cfae3bd4af',1,35,1,9,3,17,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,21,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(60,X'497e6a45248d0d5d64072d2ff31a6a09',1,49,1,10,3,17,'{"dp":1,"groups":2.0}',2,600000,NULL,NULL,'ok',NULL,24,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(61,X'1984e8b2560ba709642f52a198363022',1,91,8,2,3,17,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,39,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(62,X'f83f65661ef3467f2b27de83934e1bef',1,105,8,5,3,17,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,43,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(63,X'58c568aa8c4d70dcbba17566a0ccc6c8',1,147,8,6,3,17,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,68,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(64,X'5b4495cb2d0c414cfdf21dbf1d582231',1,161,8,7,3,17,'{"dp":2,"groups":4.0}',4,600000,NULL,NULL,'ok',NULL,80,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(65,X'85df35c02f90a4c3e4d4a94e1056d275',1,8,1,2,3,18,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,9,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(66,X'2859eedf0ec51874fdc4bc9f3fa66cea',1,22,1,5,3,18,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,18,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(67,X'ccea392b52f45b0ee1508078116ba4ba',1,64,1,6,3,18,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,30,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(68,X'741b851742056999aba47650b0401e73',1,78,1,7,3,18,'{"dp":1,"groups":4}',2,600000,NULL,NULL,'ok',NULL,36,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(69,X'82f9036fe58e9e5828037d04af89ed26',1,120,8,9,3,18,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,50,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(70,X'a558e7b80fb24db66eb11a2c182dcfc7',1,134,8,10,3,18,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,58,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(71,X'cee099b4d182fdae28a801cac0df7239',1,148,8,6,3,18,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,69,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(72,X'4c65e61bbe16fcdf5be6794560e5057e',1,162,8,7,3,18,'{"dp":2,"groups":8}',4,600000,NULL,NULL,'ok',NULL,81,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(73,X'3fc4650577f760f7f2d2e8a8d962f758',1,121,8,9,3,19,'{"dp":1,"groups":1}',4,600000,NULL,NULL,'ok',NULL,51,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(74,X'd7791f7e41b62fa3ab9dd713f56f3f19',1,135,8,10,3,19,'{"dp":1,"groups":1}',4,600000,NULL,NULL,'ok',NULL,59,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(75,X'95d54ded0605aed404b3f477368c7dbc',1,149,8,6,3,19,'{"dp":1,"groups":1}',4,600000,NULL,NULL,'ok',NULL,70,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(76,X'22ab327d66a7cdf3663f3c5d1e5810b4',1,163,8,7,3,19,'{"dp":1,"groups":1}',4,600000,NULL,NULL,'ok',NULL,82,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(77,X'2fa6649fb521b69f5892c702d5b2add2',1,94,8,2,3,20,'{"dp":1,"groups":2.0}',4,600000,NULL,NULL,'ok',NULL,40,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(78,X'0f5eb9cc94d9f028f03f3e73bbffdd8d',1,108,8,5,3,20,'{"dp":1,"groups":2.0}',4,600000,NULL,NULL,'ok',NULL,44,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(79,X'6c502fcbe811d27f3bba66df75205b5f',1,150,8,6,3,20,'{"dp":1,"groups":2.0}',4,600000,NULL,NULL,'ok',NULL,71,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(80,X'e080c4df3390c00dac409316b7b246d4',1,164,8,7,3,20,'{"dp":1,"groups":2.0}',4,600000,NULL,NULL,'ok',NULL,83,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(81,X'cede0cb2dff1354a9fc2fface1f2daa2',1,123,8,9,3,21,'{"dp":1,"groups":4}',4,600000,NULL,NULL,'ok',NULL,52,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(82,X'4b269009f0c99cb1767b50cc929185d6',1,137,8,10,3,21,'{"dp":1,"groups":4}',4,600000,NULL,NULL,'ok',NULL,60,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(83,X'4cfdd69a33bedd2dafd6964fa66291a9',1,151,8,6,3,21,'{"dp":1,"groups":4}',4,600000,NULL,NULL,'ok',NULL,72,NULL,NULL,0,NULL,0,NULL,NULL);
INSERT INTO job VALUES(84,X'ffab123d41e145782fc227c50ec4c10f',1,165,8,7,3,21,'{"dp":1,"groups":4}',4,600000,NULL,NULL,'ok',NULL,84,NULL,NULL,0,NULL,0,NULL,NULL);
CREATE TABLE runner (
    id           INTEGER PRIMARY KEY,
    host         TEXT NOT NULL,
    boot_id      TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    start_ticks  INTEGER NOT NULL,
    started      INTEGER NOT NULL,
    ended        INTEGER,
    tool_version TEXT NOT NULL,
    provenance   TEXT NOT NULL CHECK (json_valid(provenance))
);
INSERT INTO runner VALUES(1,'node1','another-boot',1000,5,1700000000000,1795388850668,'0.1.0','{}');
CREATE TABLE attempt (
    id           INTEGER PRIMARY KEY,
    job_id       INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL CHECK (number > 0),
    runner_id    INTEGER NOT NULL REFERENCES runner (id),
    state        TEXT NOT NULL CHECK (state = 'claimed' OR state = 'running' OR state = 'ok' OR state = 'failed'),
    failure      TEXT CHECK (failure IS NULL OR failure = 'exit' OR failure = 'signal' OR failure = 'oom' OR failure = 'oom-host'
                                  OR failure = 'timeout' OR failure = 'hang' OR failure = 'no-metric'
                                  OR failure = 'spawn' OR failure = 'lost' OR failure = 'cancelled'),
    message      TEXT,
    command      TEXT CHECK (command IS NULL OR json_valid(command)),
    environment  TEXT CHECK (environment IS NULL OR json_valid(environment)),
    executor     TEXT NOT NULL DEFAULT 'local',
    reference    TEXT,                  -- the executor's own name for it (a Slurm job id)
    slot         INTEGER,
    pid          INTEGER,
    start_ticks  INTEGER,               -- with pid and the runner's boot id: a process's identity
    started      INTEGER,
    ended        INTEGER,
    duration_ms  INTEGER,
    exit_code    INTEGER,
    signal       INTEGER,
    limit_ms     INTEGER,               -- the limit that fired
    user_ms      INTEGER,
    system_ms    INTEGER,
    max_rss      INTEGER,               -- bytes, of the largest process
    leftovers    INTEGER,               -- descendants that had to be ended after it
    directory    TEXT,                  -- its files: output.log, metrics.jsonl
    log_bytes    INTEGER,
    log_tail     TEXT, host TEXT, devices TEXT, stopped_steps INTEGER, origin TEXT, scripts TEXT CHECK (scripts IS NULL OR json_valid(scripts)),
    UNIQUE (job_id, number),
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);
INSERT INTO attempt VALUES(1,1,1,1,'ok',NULL,NULL,'["/bin/true","2","1","1","2"]',NULL,'local',NULL,0,1001,5,1700000000001,1700000001001,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(2,9,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","4.0"]',NULL,'local',NULL,0,1002,5,1700000000002,1700000001002,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(3,17,1,1,'ok',NULL,NULL,'["/bin/true","2","1","4","8"]',NULL,'local',NULL,0,1003,5,1700000000003,1700000001003,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(4,25,1,1,'ok',NULL,NULL,'["/bin/true","2","2","1","1"]',NULL,'local',NULL,0,1004,5,1700000000004,1700000001004,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(5,33,1,1,'ok',NULL,NULL,'["/bin/true","2","2","2.0","2.0"]',NULL,'local',NULL,0,1005,5,1700000000005,1700000001005,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(6,41,1,1,'ok',NULL,NULL,'["/bin/true","2","2","4","4"]',NULL,'local',NULL,0,1006,5,1700000000006,1700000001006,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(7,49,1,1,'ok',NULL,NULL,'["/bin/true","2","1","1","1"]',NULL,'local',NULL,0,1007,5,1700000000007,1700000001007,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(8,57,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","2.0"]',NULL,'local',NULL,0,1008,5,1700000000008,1700000001008,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(9,65,1,1,'ok',NULL,NULL,'["/bin/true","2","1","4","4"]',NULL,'local',NULL,0,1009,5,1700000000009,1700000001009,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(10,2,1,1,'ok',NULL,NULL,'["/bin/true","2","1","1","2"]',NULL,'local',NULL,0,1010,5,1700000000010,1700000001010,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(11,10,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","4.0"]',NULL,'local',NULL,0,1011,5,1700000000011,1700000001011,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(12,18,1,1,'ok',NULL,NULL,'["/bin/true","2","1","4","8"]',NULL,'local',NULL,0,1012,5,1700000000012,1700000001012,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(13,26,1,1,'ok',NULL,NULL,'["/bin/true","2","2","1","1"]',NULL,'local',NULL,0,1013,5,1700000000013,1700000001013,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(14,34,1,1,'ok',NULL,NULL,'["/bin/true","2","2","2.0","2.0"]',NULL,'local',NULL,0,1014,5,1700000000014,1700000001014,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(15,42,1,1,'ok',NULL,NULL,'["/bin/true","2","2","4","4"]',NULL,'local',NULL,0,1015,5,1700000000015,1700000001015,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(16,50,1,1,'ok',NULL,NULL,'["/bin/true","2","1","1","1"]',NULL,'local',NULL,0,1016,5,1700000000016,1700000001016,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(17,58,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","2.0"]',NULL,'local',NULL,0,1017,5,1700000000017,1700000001017,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(18,66,1,1,'ok',NULL,NULL,'["/bin/true","2","1","4","4"]',NULL,'local',NULL,0,1018,5,1700000000018,1700000001018,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(19,11,1,1,'ok',NULL,NULL,'["/bin/true","4","1","2.0","4.0"]',NULL,'local',NULL,0,1019,5,1700000000019,1700000001019,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(20,35,1,1,'ok',NULL,NULL,'["/bin/true","4","2","2.0","2.0"]',NULL,'local',NULL,0,1020,5,1700000000020,1700000001020,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(21,59,1,1,'ok',NULL,NULL,'["/bin/true","4","1","2.0","2.0"]',NULL,'local',NULL,0,1021,5,1700000000021,1700000001021,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(22,12,1,1,'ok',NULL,NULL,'["/bin/true","4","1","2.0","4.0"]',NULL,'local',NULL,0,1022,5,1700000000022,1700000001022,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(23,36,1,1,'ok',NULL,NULL,'["/bin/true","4","2","2.0","2.0"]',NULL,'local',NULL,0,1023,5,1700000000023,1700000001023,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(24,60,1,1,'ok',NULL,NULL,'["/bin/true","4","1","2.0","2.0"]',NULL,'local',NULL,0,1024,5,1700000000024,1700000001024,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(25,3,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","2"]',NULL,'local',NULL,0,1025,5,1700000000025,1700000001025,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(26,19,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","8"]',NULL,'local',NULL,0,1026,5,1700000000026,1700000001026,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(27,27,1,1,'ok',NULL,NULL,'["/bin/true","6","2","1","1"]',NULL,'local',NULL,0,1027,5,1700000000027,1700000001027,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(28,43,1,1,'ok',NULL,NULL,'["/bin/true","6","2","4","4"]',NULL,'local',NULL,0,1028,5,1700000000028,1700000001028,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(29,51,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","1"]',NULL,'local',NULL,0,1029,5,1700000000029,1700000001029,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(30,67,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","4"]',NULL,'local',NULL,0,1030,5,1700000000030,1700000001030,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(31,4,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","2"]',NULL,'local',NULL,0,1031,5,1700000000031,1700000001031,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(32,20,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","8"]',NULL,'local',NULL,0,1032,5,1700000000032,1700000001032,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(33,28,1,1,'ok',NULL,NULL,'["/bin/true","6","2","1","1"]',NULL,'local',NULL,0,1033,5,1700000000033,1700000001033,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(34,44,1,1,'ok',NULL,NULL,'["/bin/true","6","2","4","4"]',NULL,'local',NULL,0,1034,5,1700000000034,1700000001034,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(35,52,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","1"]',NULL,'local',NULL,0,1035,5,1700000000035,1700000001035,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(36,68,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","4"]',NULL,'local',NULL,0,1036,5,1700000000036,1700000001036,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(37,13,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","8.0"]',NULL,'local',NULL,0,1037,5,1700000000037,1700000001037,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(38,37,1,1,'ok',NULL,NULL,'["/bin/true","2","2","2.0","4.0"]',NULL,'local',NULL,0,1038,5,1700000000038,1700000001038,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(39,61,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","4.0"]',NULL,'local',NULL,0,1039,5,1700000000039,1700000001039,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(40,77,1,1,'ok',NULL,NULL,'["/bin/true","2","2","2.0","2.0"]',NULL,'local',NULL,0,1040,5,1700000000040,1700000001040,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(41,14,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","8.0"]',NULL,'local',NULL,0,1041,5,1700000000041,1700000001041,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(42,38,1,1,'ok',NULL,NULL,'["/bin/true","2","2","2.0","4.0"]',NULL,'local',NULL,0,1042,5,1700000000042,1700000001042,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(43,62,1,1,'ok',NULL,NULL,'["/bin/true","2","1","2.0","4.0"]',NULL,'local',NULL,0,1043,5,1700000000043,1700000001043,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(44,78,1,1,'ok',NULL,NULL,'["/bin/true","2","2","2.0","2.0"]',NULL,'local',NULL,0,1044,5,1700000000044,1700000001044,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(45,5,1,1,'ok',NULL,NULL,'["/bin/true","4","1","1","4"]',NULL,'local',NULL,0,1045,5,1700000000045,1700000001045,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(46,21,1,1,'ok',NULL,NULL,'["/bin/true","4","1","4","16"]',NULL,'local',NULL,0,1046,5,1700000000046,1700000001046,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(47,29,1,1,'ok',NULL,NULL,'["/bin/true","4","2","1","2"]',NULL,'local',NULL,0,1047,5,1700000000047,1700000001047,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(48,45,1,1,'ok',NULL,NULL,'["/bin/true","4","2","4","8"]',NULL,'local',NULL,0,1048,5,1700000000048,1700000001048,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(49,53,1,1,'ok',NULL,NULL,'["/bin/true","4","1","1","2"]',NULL,'local',NULL,0,1049,5,1700000000049,1700000001049,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(50,69,1,1,'ok',NULL,NULL,'["/bin/true","4","1","4","8"]',NULL,'local',NULL,0,1050,5,1700000000050,1700000001050,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(51,73,1,1,'ok',NULL,NULL,'["/bin/true","4","2","1","1"]',NULL,'local',NULL,0,1051,5,1700000000051,1700000001051,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(52,81,1,1,'ok',NULL,NULL,'["/bin/true","4","2","4","4"]',NULL,'local',NULL,0,1052,5,1700000000052,1700000001052,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(53,6,1,1,'ok',NULL,NULL,'["/bin/true","4","1","1","4"]',NULL,'local',NULL,0,1053,5,1700000000053,1700000001053,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(54,22,1,1,'ok',NULL,NULL,'["/bin/true","4","1","4","16"]',NULL,'local',NULL,0,1054,5,1700000000054,1700000001054,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(55,30,1,1,'ok',NULL,NULL,'["/bin/true","4","2","1","2"]',NULL,'local',NULL,0,1055,5,1700000000055,1700000001055,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(56,46,1,1,'ok',NULL,NULL,'["/bin/true","4","2","4","8"]',NULL,'local',NULL,0,1056,5,1700000000056,1700000001056,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(57,54,1,1,'ok',NULL,NULL,'["/bin/true","4","1","1","2"]',NULL,'local',NULL,0,1057,5,1700000000057,1700000001057,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(58,70,1,1,'ok',NULL,NULL,'["/bin/true","4","1","4","8"]',NULL,'local',NULL,0,1058,5,1700000000058,1700000001058,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(59,74,1,1,'ok',NULL,NULL,'["/bin/true","4","2","1","1"]',NULL,'local',NULL,0,1059,5,1700000000059,1700000001059,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(60,82,1,1,'ok',NULL,NULL,'["/bin/true","4","2","4","4"]',NULL,'local',NULL,0,1060,5,1700000000060,1700000001060,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(61,7,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","4"]',NULL,'local',NULL,0,1061,5,1700000000061,1700000001061,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(62,15,1,1,'ok',NULL,NULL,'["/bin/true","6","1","2.0","8.0"]',NULL,'local',NULL,0,1062,5,1700000000062,1700000001062,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(63,23,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","16"]',NULL,'local',NULL,0,1063,5,1700000000063,1700000001063,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(64,31,1,1,'ok',NULL,NULL,'["/bin/true","6","2","1","2"]',NULL,'local',NULL,0,1064,5,1700000000064,1700000001064,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(65,39,1,1,'ok',NULL,NULL,'["/bin/true","6","2","2.0","4.0"]',NULL,'local',NULL,0,1065,5,1700000000065,1700000001065,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(66,47,1,1,'ok',NULL,NULL,'["/bin/true","6","2","4","8"]',NULL,'local',NULL,0,1066,5,1700000000066,1700000001066,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(67,55,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","2"]',NULL,'local',NULL,0,1067,5,1700000000067,1700000001067,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(68,63,1,1,'ok',NULL,NULL,'["/bin/true","6","1","2.0","4.0"]',NULL,'local',NULL,0,1068,5,1700000000068,1700000001068,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(69,71,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","8"]',NULL,'local',NULL,0,1069,5,1700000000069,1700000001069,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(70,75,1,1,'ok',NULL,NULL,'["/bin/true","6","2","1","1"]',NULL,'local',NULL,0,1070,5,1700000000070,1700000001070,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(71,79,1,1,'ok',NULL,NULL,'["/bin/true","6","2","2.0","2.0"]',NULL,'local',NULL,0,1071,5,1700000000071,1700000001071,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(72,83,1,1,'ok',NULL,NULL,'["/bin/true","6","2","4","4"]',NULL,'local',NULL,0,1072,5,1700000000072,1700000001072,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(73,8,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","4"]',NULL,'local',NULL,0,1073,5,1700000000073,1700000001073,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(74,16,1,1,'ok',NULL,NULL,'["/bin/true","6","1","2.0","8.0"]',NULL,'local',NULL,0,1074,5,1700000000074,1700000001074,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(75,24,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","16"]',NULL,'local',NULL,0,1075,5,1700000000075,1700000001075,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(76,32,1,1,'ok',NULL,NULL,'["/bin/true","6","2","1","2"]',NULL,'local',NULL,0,1076,5,1700000000076,1700000001076,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(77,40,1,1,'ok',NULL,NULL,'["/bin/true","6","2","2.0","4.0"]',NULL,'local',NULL,0,1077,5,1700000000077,1700000001077,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(78,48,1,1,'ok',NULL,NULL,'["/bin/true","6","2","4","8"]',NULL,'local',NULL,0,1078,5,1700000000078,1700000001078,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(79,56,1,1,'ok',NULL,NULL,'["/bin/true","6","1","1","2"]',NULL,'local',NULL,0,1079,5,1700000000079,1700000001079,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(80,64,1,1,'ok',NULL,NULL,'["/bin/true","6","1","2.0","4.0"]',NULL,'local',NULL,0,1080,5,1700000000080,1700000001080,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(81,72,1,1,'ok',NULL,NULL,'["/bin/true","6","1","4","8"]',NULL,'local',NULL,0,1081,5,1700000000081,1700000001081,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(82,76,1,1,'ok',NULL,NULL,'["/bin/true","6","2","1","1"]',NULL,'local',NULL,0,1082,5,1700000000082,1700000001082,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(83,80,1,1,'ok',NULL,NULL,'["/bin/true","6","2","2.0","2.0"]',NULL,'local',NULL,0,1083,5,1700000000083,1700000001083,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(84,84,1,1,'ok',NULL,NULL,'["/bin/true","6","2","4","4"]',NULL,'local',NULL,0,1084,5,1700000000084,1700000001084,20,0,NULL,NULL,0,0,8544256,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE metric (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    step       INTEGER,
    value      NOT NULL CHECK (typeof(value) IN ('real', 'integer') OR value = 'NaN'),
    PRIMARY KEY (attempt_id, name, sequence)
) WITHOUT ROWID;
CREATE TABLE summary (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      NOT NULL CHECK (typeof(value) IN ('real', 'integer') OR value = 'NaN'),
    count      INTEGER NOT NULL,        -- samples counted, after warm-up
    mean       REAL,
    median     REAL,
    minimum    REAL,
    maximum    REAL,
    stddev     REAL,
    p90        REAL,
    PRIMARY KEY (attempt_id, name)
) WITHOUT ROWID;
CREATE TABLE metric_definition (
    name   TEXT PRIMARY KEY,
    unit   TEXT NOT NULL DEFAULT '',
    better TEXT CHECK (better IN ('max', 'min')),
    warmup INTEGER NOT NULL DEFAULT 0,
    take   TEXT NOT NULL DEFAULT 'median'
) WITHOUT ROWID;
CREATE TABLE failure_pattern (
    class   TEXT NOT NULL,
    pattern TEXT NOT NULL,
    source  TEXT NOT NULL,
    PRIMARY KEY (class, pattern)
) WITHOUT ROWID;
CREATE TABLE observation (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    quantity   TEXT NOT NULL CHECK (quantity IN ('memory', 'time')),
    framework  TEXT NOT NULL,
    device     TEXT NOT NULL,
    cluster    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('measured', 'at-least', 'at-most')),
    measured   REAL NOT NULL,           -- bytes or seconds; for at-least and at-most, the device's bytes
    predicted  REAL NOT NULL,           -- by the coefficients of that moment
    peak       REAL,                    -- time: seconds at the peak of all devices
    terms      TEXT NOT NULL CHECK (json_valid(terms)),
    PRIMARY KEY (attempt_id, quantity)
) WITHOUT ROWID;
CREATE TABLE calibration (
    framework TEXT NOT NULL,
    device    TEXT NOT NULL,
    cluster   TEXT NOT NULL,
    quantity  TEXT NOT NULL CHECK (quantity IN ('memory', 'time')),
    weights   TEXT NOT NULL CHECK (json_valid(weights)),   -- one per term
    sigma     REAL NOT NULL,
    interval  REAL NOT NULL,
    measured  INTEGER NOT NULL,
    censored  INTEGER NOT NULL,
    broken    INTEGER NOT NULL,
    prior     INTEGER NOT NULL CHECK (prior IN (0, 1)),    -- too few measurements: the prior's weights
    baseline  REAL,                     -- time: measured over peak seconds, where that does better than the model
    model_error REAL, baseline_error REAL,                 -- over the last runs: mean of |predicted / measured - 1|
    updated   INTEGER NOT NULL,
    PRIMARY KEY (framework, device, cluster, quantity)
) WITHOUT ROWID;
CREATE TABLE search (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    options  TEXT NOT NULL CHECK (json_valid(options)),  -- every one, with its default
    started  INTEGER NOT NULL,
    finished TEXT                                        -- why it ended; NULL: it goes on
);
CREATE TABLE trial (
    id         INTEGER PRIMARY KEY,
    search_id  INTEGER NOT NULL REFERENCES search (id) ON DELETE CASCADE,
    job_id     INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    attempt_id INTEGER,
    asked      INTEGER,
    told       INTEGER,
    resource   REAL,
    lineage    TEXT,
    draw       INTEGER,
    reason     TEXT NOT NULL,
    outcome    TEXT CHECK (outcome IN ('ok', 'stopped', 'failed')),
    failure    TEXT,
    objective  REAL,
    steps      REAL,
    seconds    REAL,               -- of a step
    bytes      REAL,
    device_seconds REAL,
    CHECK (asked IS NOT NULL OR told IS NOT NULL),
    CHECK ((told IS NULL) = (outcome IS NULL))
);
CREATE TABLE further_objective (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 1), -- as declared; 0 would be sweep.objective
    metric   TEXT NOT NULL,
    maximise INTEGER NOT NULL CHECK (maximise IN (0, 1)),
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;
CREATE INDEX sweep_last_seen ON sweep (last_seen);
CREATE INDEX exclusion_rule ON exclusion (sweep_id, position);
CREATE INDEX job_running ON job (id) WHERE state = 'running';
CREATE INDEX job_failed  ON job (sweep_id, failure) WHERE state = 'failed';
CREATE TRIGGER job_deleted AFTER DELETE ON job
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE id = OLD.sweep_id AND enumerated;
    DELETE FROM attempt WHERE job_id = OLD.id;
END;
CREATE TRIGGER job_taken_over AFTER UPDATE OF sweep_id ON job WHEN OLD.sweep_id <> NEW.sweep_id
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE id = OLD.sweep_id AND enumerated;
END;
CREATE INDEX attempt_open ON attempt (id) WHERE state IN ('claimed', 'running');
CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM metric WHERE attempt_id = OLD.id;
    DELETE FROM summary WHERE attempt_id = OLD.id;
    UPDATE job SET state = 'pending', failure = NULL, attempt_id = nullif(attempt_id, OLD.id)
    WHERE id = OLD.job_id AND (attempt_id = OLD.id OR state = 'running')
          AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = OLD.job_id AND state IN ('claimed', 'running'));
END;
CREATE INDEX observation_place ON observation (framework, device, cluster, quantity);
CREATE INDEX job_due ON job (sweep_id, due) WHERE state = 'pending' AND due IS NOT NULL;
CREATE INDEX job_pending ON job (sweep_id, priority, rank) WHERE state = 'pending' AND witness_id IS NULL;
CREATE INDEX job_pruned ON job (witness_id, sweep_id) WHERE witness_id IS NOT NULL;
CREATE TRIGGER witness_deleted AFTER DELETE ON job WHEN OLD.failure = 'oom'
BEGIN
    UPDATE job SET witness_id = NULL WHERE witness_id = OLD.id;
END;
CREATE TRIGGER witness_reopened AFTER UPDATE OF failure ON job WHEN OLD.failure = 'oom' AND NEW.failure IS NOT 'oom'
BEGIN
    UPDATE job SET witness_id = NULL WHERE witness_id = OLD.id;
END;
CREATE INDEX search_sweep ON search (sweep_id);
CREATE INDEX trial_search ON trial (search_id, asked);
CREATE INDEX trial_job ON trial (job_id);
CREATE TRIGGER trial_job_deleted AFTER DELETE ON job
BEGIN
    DELETE FROM trial WHERE job_id = OLD.id;
END;
CREATE INDEX summary_value ON summary (name, value);
CREATE UNIQUE INDEX attempt_origin ON attempt (origin) WHERE origin IS NOT NULL;
CREATE TRIGGER job_state BEFORE UPDATE OF state ON job
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'pending' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'pending' OR NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE NEW.state = 'pending' END
BEGIN
    SELECT RAISE(ABORT, 'a job goes from pending to running to ok or failed, and from each of them to pending');
END;
CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;
CREATE VIEW current_sweep AS
SELECT * FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1;
CREATE VIEW progress AS
SELECT CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.state = 'running' AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state = 'running')
            THEN 'pending' ELSE j.state END AS state, j.failure, count(*) AS jobs
FROM job AS j
WHERE j.sweep_id = (SELECT id FROM current_sweep)
GROUP BY 1, 2;
CREATE VIEW failures AS
SELECT j.id AS job, a.number AS attempt, a.failure, a.message, a.exit_code, a.signal, a.limit_ms, a.duration_ms,
       a.directory, a.log_tail, a.command,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM attempt AS a
JOIN job AS j ON j.id = a.job_id
WHERE a.state = 'failed'
ORDER BY a.ended DESC;
CREATE VIEW excluded AS
SELECT r.name AS rule, r.level, r.excluded, r.alone, r.reason, r.source,
       (SELECT "values" FROM exclusion AS x WHERE x.sweep_id = r.sweep_id AND x.position = r.position LIMIT 1) AS example
FROM rule AS r
WHERE r.sweep_id = (SELECT id FROM current_sweep)
ORDER BY r.position;
CREATE VIEW results AS
SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep,
       j.sweep_id = (SELECT id FROM current_sweep) AS in_sweep,
       json_extract(cluster_spec.json, '$."num_devices_per_host"') AS "num_devices_per_host",
       json_extract(cluster_spec.json, '$."num_hosts"') AS "num_hosts",
       json_extract(model.json, '$."heads"') AS "heads",
       json_extract(model.json, '$."hidden"') AS "hidden",
       json_extract(model.json, '$."layers"') AS "layers",
       json_extract(model.json, '$."name"') AS "name",
       json_extract(model.json, '$."owner"') AS "owner",
       json_extract(model.json, '$."experts"') AS "experts",
       json_extract(training_spec.json, '$."global_batch"') AS "global_batch",
       json_extract(parallel_spec.json, '$."micro_batch"') AS "micro_batch",
       json_extract(parallel_spec.json, '$."pp"') AS "pp",
       json_extract(parallel_spec.json, '$."tp"') AS "tp",
       json_extract(j.derived, '$."dp"') AS "dp",
       json_extract(j.derived, '$."groups"') AS "groups",
       CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.state = 'running' AND NOT EXISTS
           (SELECT 1 FROM attempt AS r WHERE r.job_id = j.id AND r.state = 'running')
            THEN 'pending' ELSE j.state END AS state, j.failure,
       (SELECT count(*) FROM attempt AS n WHERE n.job_id = j.id AND n.state <> 'claimed') AS attempts,
       a.duration_ms, a.max_rss,
       CASE WHEN EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id) THEN
           a.state <> 'ok' OR a.stopped_steps IS NOT NULL END AS partial,
       CASE WHEN j.state = 'failed' THEN
           (SELECT message FROM attempt AS f WHERE f.job_id = j.id AND f.state = 'failed'
            ORDER BY number DESC LIMIT 1)
            WHEN j.witness_id IS NOT NULL THEN
           'needs no less device memory than job ' || j.witness_id || ', which ran out of it'
            END AS error,
       a.directory,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM job AS j
LEFT JOIN sweep AS s ON s.id = j.sweep_id
LEFT JOIN spec AS cluster_spec ON cluster_spec.id = j.cluster_id
LEFT JOIN spec AS model ON model.id = j.model_id
LEFT JOIN spec AS training_spec ON training_spec.id = j.training_id
LEFT JOIN spec AS parallel_spec ON parallel_spec.id = j.parallel_id
LEFT JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id
WHERE s.role IS NULL;
CREATE VIEW ranking AS
SELECT NULL AS rank, NULL AS objective, r.job, r.key, r.sweep, r.in_sweep, r."num_devices_per_host", r."num_hosts", r."heads", r."hidden", r."layers", r."name", r."owner", r."experts", r."global_batch", r."micro_batch", r."pp", r."tp", r."dp", r."groups", r.state, r.failure, r.attempts, r.duration_ms, r.max_rss, r.partial, r.error, r.directory, r.started, r.ended
FROM results AS r WHERE 0;
COMMIT;
