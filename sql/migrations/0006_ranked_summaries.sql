-- The best of a million jobs without looking at each: values of a metric in their order.
CREATE INDEX summary_value ON summary (name, value);
