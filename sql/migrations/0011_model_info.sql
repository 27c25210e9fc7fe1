-- What is known of a sweep's model besides its keys: a JSON object of facts (params, activation_memory, …) with where they
-- come from, or why they are not known; NULL: it was not asked for.
ALTER TABLE sweep ADD COLUMN model_info TEXT CHECK (model_info IS NULL OR json_valid(model_info));

-- 'model-info': one job that finds such facts out for others; NULL: a sweep that somebody asked for.
ALTER TABLE sweep ADD COLUMN role TEXT;
