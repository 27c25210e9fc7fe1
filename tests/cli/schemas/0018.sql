-- A database of schema version 18: three jobs are ok, the fourth was running when its runner died.
-- Its tables, indexes and triggers: MD5 cfd7ee92a75ba8f1fb34fea7974d2582.
PRAGMA application_id = 1836279927;
INSERT INTO meta VALUES('identity','00112233445566778899aabbccddeeff');
INSERT INTO sweep VALUES(1,X'8b887b27d5795857919bfab0323f398a','small','sweep.toml',replace('[sweep]\nname = "small"\nobjective = "max:score"\n\n[job]\ncommand = ["/bin/sh", "./job.sh", "{x}", "{y}"]\n\n[job.metrics.score]\nregex = ''score: ([0-9.]+)''\nbetter = "max"\n\n[[training_spec]]\nx = [1, 2]\n\n[[parallel_spec]]\ny = [10, 20]\n','\n',char(10)),'','0.1.0','score',1,1700000000000,1700000000000,4,4,0,4,1,NULL,NULL);
INSERT INTO spec VALUES(1,'cluster_spec',X'b4189afdffd054df8149f1b5e17f71f7',NULL,'{"num_devices_per_host":1,"num_hosts":1}',NULL);
INSERT INTO spec VALUES(2,'training_spec',X'560e13377107fb286e0056ba3ec68476',NULL,'{"x":1}',NULL);
INSERT INTO spec VALUES(3,'parallel_spec',X'984cbb01f14ee0c1db5b2e5d102970e6',NULL,'{"y":10}',NULL);
INSERT INTO spec VALUES(4,'parallel_spec',X'f91ec4322102397b4ddc12e2aee10475',NULL,'{"y":20}',NULL);
INSERT INTO spec VALUES(5,'training_spec',X'5b858b8ae9e96c0b9cd316c3036561c3',NULL,'{"x":2}',NULL);
INSERT INTO job VALUES(1,X'4fb8f0f756171fc7f07bc8b09b1a3d29',1,0,1,NULL,2,3,NULL,1,600000,NULL,NULL,'ok',NULL,1,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO job VALUES(2,X'8372b42862c8a3786ce0d3c4ca1a534e',1,1,1,NULL,2,4,NULL,1,600000,NULL,NULL,'ok',NULL,2,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO job VALUES(3,X'2e9b080ba9bcbb842437e9372aab4fb4',1,2,1,NULL,5,3,NULL,1,600000,NULL,NULL,'ok',NULL,3,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO job VALUES(4,X'604ae8af869efbc6afd48c794a950fc7',1,3,1,NULL,5,4,NULL,1,600000,NULL,NULL,'running',NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO runner VALUES(1,'node1','another-boot',1000,5,1700000000000,NULL,'0.1.0','{}');
INSERT INTO attempt VALUES(1,1,1,1,'ok',NULL,NULL,'["/bin/sh","./job.sh","1","10"]',NULL,'local',NULL,0,1001,5,1700000000001,1700000001001,20,0,NULL,NULL,0,0,8544256,0,NULL,10,replace('score: 10\n','\n',char(10)),NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(2,2,1,1,'ok',NULL,NULL,'["/bin/sh","./job.sh","1","20"]',NULL,'local',NULL,0,1002,5,1700000000002,1700000001002,20,0,NULL,NULL,0,0,8544256,0,NULL,10,replace('score: 20\n','\n',char(10)),NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(3,3,1,1,'ok',NULL,NULL,'["/bin/sh","./job.sh","2","10"]',NULL,'local',NULL,0,1003,5,1700000000003,1700000001003,20,0,NULL,NULL,0,0,8544256,0,NULL,10,replace('score: 20\n','\n',char(10)),NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(4,4,1,1,'running',NULL,NULL,'["/bin/sh","./job.sh","2","20"]',NULL,'local',NULL,0,1004,5,1700000000004,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO metric VALUES(1,'score',0,0,10.0);
INSERT INTO metric VALUES(2,'score',0,0,20.0);
INSERT INTO metric VALUES(3,'score',0,0,20.0);
INSERT INTO summary VALUES(1,'score',10.0,1,10.0,10.0,10.0,10.0,0.0,10.0,0,1,NULL,NULL);
INSERT INTO summary VALUES(2,'score',20.0,1,20.0,20.0,20.0,20.0,0.0,20.0,0,1,NULL,NULL);
INSERT INTO summary VALUES(3,'score',20.0,1,20.0,20.0,20.0,20.0,0.0,20.0,0,1,NULL,NULL);
INSERT INTO metric_definition VALUES('score','','max',0,'median',NULL,NULL,NULL);
INSERT INTO failure_pattern VALUES('oom','a pattern of then','built in');
