-- A predicted memory says whose it is: by which counter and on which rank, as the sweep's own metric is compared with it.
ALTER TABLE job ADD COLUMN predicted_memory_of TEXT; -- "reserved, largest rank"; NULL: not predicted, or not known
