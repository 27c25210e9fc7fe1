-- Output texts by which an attempt that failed is told to have run out of memory. Patterns are POSIX extended regular
-- expressions, tried on each line of the output of attempts that did not exit 0. A device's memory is `oom`, a
-- result of the configuration; the host's is `oom-host`. [[failure]] in a sweep file adds more.
-- "illegal memory access", Triton's "out of resource: shared memory" and CUDNN_STATUS_INTERNAL_ERROR are left out on
-- purpose: each has causes that no smaller batch cures.

INSERT INTO failure_pattern (class, pattern, source) VALUES
('oom', 'torch\.(cuda\.)?OutOfMemoryError', 'PyTorch: class of the exception'),
('oom', '(CUDA|HIP|XPU|MPS|NPU) (error: |backend )?out of memory', 'PyTorch: allocators of the devices'),
('oom', 'cuda runtime error \(2\)', 'PyTorch before 1.8'),
('oom', 'cudaErrorMemoryAllocation', 'CUDA runtime API, error 2'),
('oom', 'cudaMalloc.*failed.*out of memory', 'CUDA runtime API, as programs and MXNet report it'),
('oom', 'CUDA_ERROR_OUT_OF_MEMORY', 'CUDA driver API, error 2; TensorFlow, XLA'),
('oom', 'hipErrorOutOfMemory', 'HIP runtime API'),
('oom', 'RESULT_ERROR_OUT_OF_DEVICE_MEMORY', 'oneAPI Level Zero and Unified Runtime'),
('oom', '(CUBLAS|CUDNN|CUSPARSE|CUSOLVER|CUFFT)_STATUS_ALLOC_FAILED', 'cuBLAS, cuDNN and siblings: no workspace'),
('oom', '(RESOURCE_EXHAUSTED|[Rr]esource exhausted): .*[Oo]ut of memory', 'XLA: JAX, Alpa, TensorFlow'),
('oom', '(RESOURCE_EXHAUSTED|[Rr]esource exhausted): Failed to allocate request', 'XLA: JAX, Alpa'),
('oom', '(RESOURCE_EXHAUSTED|[Rr]esource exhausted): Attempting to (reserve|allocate)', 'XLA on TPU'),
('oom', '[Rr]an out of memory in memory space hbm', 'XLA on TPU: program does not fit'),
('oom', 'OOM when allocating tensor', 'TensorFlow'),
('oom', 'Out of memory error on [A-Za-z]+ [0-9]', 'PaddlePaddle: allocators of the devices'),
('oom', 'Cuda failure.*out of memory', 'NCCL: its CUDA checks'),
('oom', 'NCCL (WARN|error|ERROR).*out of memory', 'NCCL through a framework'),
('oom', 'ncclUnhandledCudaError.*out of memory', 'NCCL through PyTorch'),
('oom', 'Failed to allocate memory for requested buffer of size', 'ONNX Runtime: arena of the device'),
('oom', '^meshsweep-trainer: .*out of memory: rank', 'meshsweep-trainer'),
('oom-host', 'DefaultCPUAllocator: (can''t allocate memory|not enough memory)', 'PyTorch: allocator of the host'),
('oom-host', 'DataLoader worker.*is killed by signal: (Killed|Bus error)', 'PyTorch: DataLoader'),
('oom-host', 'workers are out of shared memory', 'PyTorch: DataLoader, /dev/shm is full'),
('oom-host', '(^|[ .:])_?(Array)?MemoryError(:|$)', 'Python, NumPy'),
('oom-host', 'std::bad_alloc', 'C++'),
('oom-host', '[Cc]annot allocate memory', 'strerror(ENOMEM)'),
('oom-host', '[Oo]ut [Oo]f [Mm]emory: Kill', 'Linux: the OOM killer, in a log that was copied'),
('oom-host', '[Oo][Oo][Mm][-_]kill event', 'Slurm: slurmstepd'),
('oom-host', 'task[s]? [0-9,-]+: Out Of Memory', 'Slurm: srun');
