REPLACE INTO definition VALUES(1,X'1235201022fea8e0435700262b497663','score','{"reader":"regex","pattern":"score: ([0-9.]+)"}',NULL,NULL,1.0,'','max',0,0,0,'median');
