BEGIN TRANSACTION;
CREATE TABLE approvals (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	request TEXT NOT NULL, 
	asked_at DATETIME NOT NULL, 
	decision TEXT, 
	decided_at DATETIME, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
CREATE TABLE attempts (
	number INTEGER NOT NULL, 
	day TEXT NOT NULL, 
	month TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	cached_input_tokens BIGINT NOT NULL, 
	cost_micros BIGINT NOT NULL, 
	at DATETIME NOT NULL, unpriced_tokens BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "attempts" VALUES(1,'2026-01-01','2026-01','function','function','reply','rounds','00000000000000000001',1002,2,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(2,'2026-01-01','2026-01','function','function','reply','rounds','00000000000000000002',1014,2,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(3,'2026-01-01','2026-01','function','function','reply','rounds','00000000000000000003',1030,14,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(4,'2026-01-01','2026-01','function','function','plan','plan','00000000000000000004',558,52,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(5,'2026-01-01','2026-01','function','function','step','plan','00000000000000000004',934,14,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(6,'2026-01-01','2026-01','function','function','step','plan','00000000000000000004',1003,14,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(7,'2026-01-01','2026-01','function','function','reply','rounds','00000000000000000003',1055,14,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(8,'2026-01-01','2026-01','function','function','step','plan','00000000000000000004',959,14,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(9,'2026-01-01','2026-01','function','function','step','plan','00000000000000000004',1028,14,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(10,'2026-01-01','2026-01','function','function','reply','rounds','00000000000000000003',1080,17,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(11,'2026-01-01','2026-01','function','function','step','plan','00000000000000000004',984,17,0,0,'2026-01-01 00:00:00.000000',0);
INSERT INTO "attempts" VALUES(12,'2026-01-01','2026-01','function','function','step','plan','00000000000000000004',1053,17,0,0,'2026-01-01 00:00:00.000000',0);
CREATE TABLE budget_alerts (
	provider TEXT NOT NULL, 
	period TEXT NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (provider, period, name)
);
CREATE TABLE claims (
	id TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	day TEXT NOT NULL, 
	month TEXT NOT NULL, 
	tokens BIGINT NOT NULL, 
	micros BIGINT NOT NULL, 
	at DATETIME NOT NULL, 
	host TEXT NOT NULL, 
	pid BIGINT NOT NULL, 
	process TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE event_logs (
	number INTEGER NOT NULL, 
	session_id TEXT NOT NULL, 
	last_seq BIGINT NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (session_id), 
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
INSERT INTO "event_logs" VALUES(1,'rounds',24);
INSERT INTO "event_logs" VALUES(2,'plan',23);
CREATE TABLE events (
	log INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	name TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	data TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (log, seq), 
	FOREIGN KEY(log) REFERENCES event_logs (number) ON DELETE CASCADE
);
INSERT INTO "events" VALUES(1,1,'task_queued','00000000000000000001','{"session_id":"rounds","task_id":"00000000000000000001","run_id":"00000000000000000001","position":0,"text":"hello"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,2,'task_started','00000000000000000001','{"session_id":"rounds","task_id":"00000000000000000001","run_id":"00000000000000000001","started_at":"2026-01-01T00:00:00+00:00"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,3,'message','00000000000000000001','{"session_id":"rounds","task_id":"00000000000000000001","run_id":"00000000000000000001","message_id":"rounds:1","role":"user","content":"hello"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,4,'model_attempt','00000000000000000001','{"session_id":"rounds","task_id":"00000000000000000001","run_id":"00000000000000000001","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1002,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,5,'message','00000000000000000001','{"session_id":"rounds","task_id":"00000000000000000001","run_id":"00000000000000000001","message_id":"rounds:2","role":"assistant","content":"HELLO"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,6,'task_completed','00000000000000000001','{"session_id":"rounds","task_id":"00000000000000000001","run_id":"00000000000000000001","text":"HELLO","finish_reason":"stop","usage":{"input_tokens":1002,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"duration_ms":0}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,7,'task_queued','00000000000000000002','{"session_id":"rounds","task_id":"00000000000000000002","run_id":"00000000000000000002","position":0,"text":"again"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,8,'task_started','00000000000000000002','{"session_id":"rounds","task_id":"00000000000000000002","run_id":"00000000000000000002","started_at":"2026-01-01T00:00:00+00:00"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,9,'message','00000000000000000002','{"session_id":"rounds","task_id":"00000000000000000002","run_id":"00000000000000000002","message_id":"rounds:3","role":"user","content":"again"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,10,'model_attempt','00000000000000000002','{"session_id":"rounds","task_id":"00000000000000000002","run_id":"00000000000000000002","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1014,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,11,'message','00000000000000000002','{"session_id":"rounds","task_id":"00000000000000000002","run_id":"00000000000000000002","message_id":"rounds:4","role":"assistant","content":"AGAIN"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,12,'task_completed','00000000000000000002','{"session_id":"rounds","task_id":"00000000000000000002","run_id":"00000000000000000002","text":"AGAIN","finish_reason":"stop","usage":{"input_tokens":1014,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"duration_ms":0}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,13,'task_queued','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","position":0,"text":"Look twice, then stall"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,14,'task_started','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","started_at":"2026-01-01T00:00:00+00:00"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,1,'task_queued','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","position":0,"text":"do two things"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,2,'task_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","started_at":"2026-01-01T00:00:00+00:00"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,15,'message','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","message_id":"rounds:5","role":"user","content":"Look twice, then stall"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,16,'model_attempt','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1030,"output_tokens":14,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,3,'message','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","message_id":"plan:1","role":"user","content":"do two things"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,4,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","purpose":"plan","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":558,"output_tokens":52,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,5,'plan_proposed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","plan":{"id":"plan_00000000000000000005","goal":"two things","steps":[{"id":"a","description":"Look at one","depends_on":[],"tool_hints":[],"estimated_risk":"low","model_hint":null},{"id":"b","description":"Look at two","depends_on":[],"tool_hints":[],"estimated_risk":"low","model_hint":null}]}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,6,'plan_step_changed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","step_id":"a","status":"running","reason":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,7,'plan_step_changed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","step_id":"b","status":"running","reason":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,17,'tool_call_started','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c0","tool":"look","arguments_digest":"832ef87860919d0a5e6b99492c51501291af9e337a6f1d989059ae8df8f9f4e7","arguments":{"what":"place 0"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,18,'tool_call_completed','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c0","tool":"look","outcome":"completed","duration_ms":0,"result":"saw place 0"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,8,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","purpose":"step","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":934,"output_tokens":14,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,9,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","purpose":"step","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1003,"output_tokens":14,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,19,'model_attempt','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1055,"output_tokens":14,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,10,'tool_call_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","call_id":"c0","tool":"look","arguments_digest":"28885af8c665c689abace02ccb7d36d364a05150cf30040f813976e25e9ac4e5","arguments":{"what":"place 0"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,11,'tool_call_completed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","call_id":"c0","tool":"look","outcome":"completed","duration_ms":0,"result":"saw place 0"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,12,'tool_call_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","call_id":"c0","tool":"look","arguments_digest":"dbf1a3641618a94bd1607e8cf6e5f4ac97933440a55ede7adf6c08a5d4cc87f3","arguments":{"what":"place 0"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,13,'tool_call_completed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","call_id":"c0","tool":"look","outcome":"completed","duration_ms":0,"result":"saw place 0"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,20,'tool_call_started','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c1","tool":"look","arguments_digest":"0952b5c7fd615f6e281d242c14e1737bdd54b3874676ad472bad427aecf18991","arguments":{"what":"place 1"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,21,'tool_call_completed','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c1","tool":"look","outcome":"completed","duration_ms":0,"result":"saw place 1"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,14,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","purpose":"step","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":959,"output_tokens":14,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,15,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","purpose":"step","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1028,"output_tokens":14,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,22,'model_attempt','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1080,"output_tokens":17,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,23,'message','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","message_id":"00000000000000000003:2","role":"assistant","content":"Now I stall."}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,16,'tool_call_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","call_id":"c1","tool":"look","arguments_digest":"72995b26ee65795618770b95436fb5e94e817217fea4271a6f6eaa94e62a1937","arguments":{"what":"place 1"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,17,'tool_call_completed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","call_id":"c1","tool":"look","outcome":"completed","duration_ms":0,"result":"saw place 1"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,18,'tool_call_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","call_id":"c1","tool":"look","arguments_digest":"ffd25842dff93e75d10bcb92e1f3ab7f3f21f0240afc5693d59c94eb19fd718c","arguments":{"what":"place 1"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,19,'tool_call_completed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","call_id":"c1","tool":"look","outcome":"completed","duration_ms":0,"result":"saw place 1"}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(1,24,'tool_call_started','00000000000000000003','{"session_id":"rounds","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c2","tool":"stall","arguments_digest":"2dedd4fd033a59fcc1cad6b637d1bddbd8fb54b2b2684bee04db14daa85d5405","arguments":{"what":"here"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,20,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","purpose":"step","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":984,"output_tokens":17,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,21,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","purpose":"step","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1053,"output_tokens":17,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":""}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,22,'tool_call_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/a","call_id":"c2","tool":"stall","arguments_digest":"df8fbf15dc46720882337001172fc191e0416e8d3148478eb61679144864948d","arguments":{"what":"here"}}','2026-01-01 00:00:00.000000');
INSERT INTO "events" VALUES(2,23,'tool_call_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004/b","call_id":"c2","tool":"stall","arguments_digest":"212c235ad469ee138f5cebfa0f39fb3016e13b13648f63a40262f92eefdae4f2","arguments":{"what":"here"}}','2026-01-01 00:00:00.000000');
CREATE TABLE inbound (
	channel TEXT NOT NULL, 
	account TEXT NOT NULL, 
	external_id TEXT NOT NULL, 
	run INTEGER NOT NULL, 
	PRIMARY KEY (channel, account, external_id), 
	FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE
);
CREATE TABLE journal (
	run_id TEXT NOT NULL, 
	call_id TEXT NOT NULL, 
	turn TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	result TEXT, 
	PRIMARY KEY (run_id, call_id)
);
INSERT INTO "journal" VALUES('00000000000000000003','c0','00000000000000000003','look','{"call_id":"c0","tool":"look","text":"saw place 0","outcome":"completed","duration_ms":0}');
INSERT INTO "journal" VALUES('00000000000000000004/a','c0','00000000000000000004','look','{"call_id":"c0","tool":"look","text":"saw place 0","outcome":"completed","duration_ms":0}');
INSERT INTO "journal" VALUES('00000000000000000004/b','c0','00000000000000000004','look','{"call_id":"c0","tool":"look","text":"saw place 0","outcome":"completed","duration_ms":0}');
INSERT INTO "journal" VALUES('00000000000000000003','c1','00000000000000000003','look','{"call_id":"c1","tool":"look","text":"saw place 1","outcome":"completed","duration_ms":0}');
INSERT INTO "journal" VALUES('00000000000000000004/a','c1','00000000000000000004','look','{"call_id":"c1","tool":"look","text":"saw place 1","outcome":"completed","duration_ms":0}');
INSERT INTO "journal" VALUES('00000000000000000004/b','c1','00000000000000000004','look','{"call_id":"c1","tool":"look","text":"saw place 1","outcome":"completed","duration_ms":0}');
INSERT INTO "journal" VALUES('00000000000000000003','c2','00000000000000000003','stall',NULL);
INSERT INTO "journal" VALUES('00000000000000000004/a','c2','00000000000000000004','stall',NULL);
INSERT INTO "journal" VALUES('00000000000000000004/b','c2','00000000000000000004','stall',NULL);
CREATE TABLE memories (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	category TEXT NOT NULL, 
	text TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	created_at DATETIME NOT NULL, sources TEXT, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
CREATE TABLE notes (
	number INTEGER NOT NULL, 
	channel TEXT NOT NULL, 
	account TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (number), 
	CONSTRAINT notes_are_unique UNIQUE (channel, account, kind, "key")
);
CREATE TABLE outbound (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	run_id TEXT, 
	channel TEXT NOT NULL, 
	account TEXT NOT NULL, 
	chat TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	not_before DATETIME, 
	status TEXT NOT NULL, 
	open BOOLEAN NOT NULL, 
	attempts BIGINT NOT NULL, 
	doubtful BOOLEAN NOT NULL, 
	last_error TEXT NOT NULL, 
	platform_id TEXT, 
	created_at DATETIME NOT NULL, interruptions BIGINT DEFAULT '0' NOT NULL, refusals BIGINT DEFAULT '0' NOT NULL, retried_at DATETIME, recipient TEXT DEFAULT '' NOT NULL, dead_reason TEXT DEFAULT '' NOT NULL, delivered BOOLEAN DEFAULT 0 NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
CREATE TABLE probes (
	number INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE records (
	session INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	message TEXT, 
	data TEXT NOT NULL, 
	said BOOLEAN NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (session, seq), 
	FOREIGN KEY(session) REFERENCES sessions (number) ON DELETE CASCADE
);
INSERT INTO "records" VALUES(1,1,'message','00000000000000000001','{"role":"user","content":"hello"}','{}',1,'2026-01-01 00:00:00.000000');
INSERT INTO "records" VALUES(1,2,'message','00000000000000000001','{"role":"assistant","content":"HELLO"}','{}',1,'2026-01-01 00:00:00.000000');
INSERT INTO "records" VALUES(1,3,'message','00000000000000000002','{"role":"user","content":"again"}','{}',1,'2026-01-01 00:00:00.000000');
INSERT INTO "records" VALUES(1,4,'message','00000000000000000002','{"role":"assistant","content":"AGAIN"}','{}',1,'2026-01-01 00:00:00.000000');
INSERT INTO "records" VALUES(1,5,'message','00000000000000000003','{"role":"user","content":"Look twice, then stall"}','{}',1,'2026-01-01 00:00:00.000000');
INSERT INTO "records" VALUES(2,1,'message','00000000000000000004','{"role":"user","content":"do two things"}','{}',1,'2026-01-01 00:00:00.000000');
CREATE TABLE runs (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id TEXT NOT NULL, 
	session_id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	text TEXT NOT NULL, 
	options TEXT NOT NULL, 
	status TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	started_at DATETIME, 
	finished_at DATETIME, 
	starts BIGINT NOT NULL, 
	checkpoint TEXT, 
	waiting_for TEXT NOT NULL, 
	response TEXT, 
	error TEXT, 
	cancel_requested BOOLEAN NOT NULL, signalled BOOLEAN DEFAULT 0 NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
INSERT INTO "runs" VALUES(1,'00000000000000000001','rounds','ada','local','{}','hello','{"stream":false,"model":null,"planning":null,"max_iterations":null,"trace":null}','completed','2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000',1,NULL,'[]','{"text":"HELLO","finish_reason":"stop","usage":{"input_tokens":1002,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":{}}',NULL,0,0);
INSERT INTO "runs" VALUES(2,'00000000000000000002','rounds','ada','local','{}','again','{"stream":false,"model":null,"planning":null,"max_iterations":null,"trace":null}','completed','2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000',1,NULL,'[]','{"text":"AGAIN","finish_reason":"stop","usage":{"input_tokens":1014,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"detail":{}}',NULL,0,0);
INSERT INTO "runs" VALUES(3,'00000000000000000003','rounds','ada','local','{}','Look twice, then stall','{"stream":false,"model":null,"planning":null,"max_iterations":null,"trace":null}','running','2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000',NULL,1,'{"version":1,"run_id":"00000000000000000003","session_id":"rounds","text":"Look twice, then stall","principal":"ada","data_owner":"ada","group":false,"channel":"local","stream":false,"model":null,"planning":null,"max_iterations":null,"depth":0,"recorded":5,"iteration":2,"epoch":1,"started_at":"2026-01-01T00:00:00+00:00","step":null,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"HELLO"},{"role":"user","content":"again"},{"role":"assistant","content":"AGAIN"},{"role":"user","content":"Look twice, then stall"},{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"look","arguments":{"what":"place 0"}}]},{"role":"tool","content":"saw place 0","tool_call_id":"c0"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"look","arguments":{"what":"place 1"}}]},{"role":"tool","content":"saw place 1","tool_call_id":"c1"},{"role":"assistant","content":"Now I stall.","tool_calls":[{"id":"c2","name":"stall","arguments":{"what":"here"}}]}],"tools":["look","stall","datetime.now","memory.search","load_tools","calculator","memory.write","files.read","files.list","http.request"],"pending":[{"id":"c2","name":"stall","arguments":{"what":"here"}}],"results":[],"grants":{},"active_seconds":0.0,"tally":{"usage":{"input_tokens":3165,"output_tokens":45,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"metered":{"input_tokens":3165,"output_tokens":45,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"model_calls":3,"tool_calls":3,"capped_calls":{},"untrusted_sources":[]},"extensions":{"tool_filter.selected":true,"planning.flat":true,"agentic_loop.detector":{"limits":{"window":30,"repeat_warning":10,"repeat_critical":20,"repeat_breaker":30,"poll_warning":3,"poll_critical":5,"ping_pong_window":6,"ping_pong_critical":10,"no_progress_critical":30,"criticals":3},"calls":[["look {\"what\":\"place 0\"}","=saw place 0"],["look {\"what\":\"place 1\"}","=saw place 1"],["stall {\"what\":\"here\"}",null]],"warned":[],"criticals":0,"tripped":false,"repeats":0},"agentic_loop.judgement":[2,{},"",[]],"tool_limits.reserved":["c2"]}}','[]',NULL,NULL,0,0);
INSERT INTO "runs" VALUES(4,'00000000000000000004','plan','ada','local','{}','do two things','{"stream":false,"model":null,"planning":"Always","max_iterations":null,"trace":null}','running','2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000',NULL,1,'{"version":1,"run_id":"00000000000000000004","session_id":"plan","text":"do two things","principal":"ada","data_owner":"ada","group":false,"channel":"local","stream":false,"model":null,"planning":"Always","max_iterations":null,"depth":0,"recorded":1,"iteration":0,"epoch":1,"started_at":"2026-01-01T00:00:00+00:00","step":null,"messages":[{"role":"user","content":"do two things"}],"tools":["look","stall","datetime.now","memory.search","load_tools","calculator","memory.write","files.read","files.list","http.request"],"pending":[],"results":[],"grants":{},"active_seconds":0.0,"tally":{"usage":{"input_tokens":6519,"output_tokens":142,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"metered":{"input_tokens":6519,"output_tokens":142,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"model_calls":7,"tool_calls":6,"capped_calls":{},"untrusted_sources":[]},"extensions":{"tool_filter.selected":true,"planning.work":{"progress":{"plan":{"id":"plan_00000000000000000005","goal":"two things","steps":[{"id":"a","description":"Look at one","depends_on":[],"tool_hints":[],"estimated_risk":"low","model_hint":null},{"id":"b","description":"Look at two","depends_on":[],"tool_hints":[],"estimated_risk":"low","model_hint":null}]},"states":{"a":{"status":"running","text":"","reason":"","tries":1},"b":{"status":"running","text":"","reason":"","tries":1}}},"leave":"unneeded","by":"","turns":{"a":{"version":1,"run_id":"00000000000000000004/a","session_id":"plan","text":"Look at one","principal":"ada","data_owner":"ada","group":false,"channel":"local","stream":false,"model":null,"planning":null,"max_iterations":null,"depth":1,"recorded":0,"iteration":2,"epoch":1,"started_at":"2026-01-01T00:00:00+00:00","step":{"id":"a","tool_hints":[],"model_hint":null,"approved_risk":null},"messages":[{"role":"user","content":"Look at one"},{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"look","arguments":{"what":"place 0"}}]},{"role":"tool","content":"saw place 0","tool_call_id":"c0"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"look","arguments":{"what":"place 1"}}]},{"role":"tool","content":"saw place 1","tool_call_id":"c1"},{"role":"assistant","content":"Now I stall.","tool_calls":[{"id":"c2","name":"stall","arguments":{"what":"here"}}]}],"tools":["look","stall","datetime.now","memory.search","load_tools","calculator","memory.write","files.read","files.list","memory.forget"],"pending":[{"id":"c2","name":"stall","arguments":{"what":"here"}}],"results":[],"grants":{},"active_seconds":0.0,"tally":{"usage":{"input_tokens":6519,"output_tokens":142,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"metered":{"input_tokens":6519,"output_tokens":142,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"model_calls":7,"tool_calls":6,"capped_calls":{},"untrusted_sources":[]},"extensions":{"tool_filter.selected":true,"planning.flat":true,"agentic_loop.detector":{"limits":{"window":30,"repeat_warning":10,"repeat_critical":20,"repeat_breaker":30,"poll_warning":3,"poll_critical":5,"ping_pong_window":6,"ping_pong_critical":10,"no_progress_critical":30,"criticals":3},"calls":[["look {\"what\":\"place 0\"}","=saw place 0"],["look {\"what\":\"place 1\"}","=saw place 1"],["stall {\"what\":\"here\"}",null]],"warned":[],"criticals":0,"tripped":false,"repeats":0},"agentic_loop.judgement":[2,{},"",[]],"tool_limits.reserved":["c2"]}},"b":{"version":1,"run_id":"00000000000000000004/b","session_id":"plan","text":"Look at two","principal":"ada","data_owner":"ada","group":false,"channel":"local","stream":false,"model":null,"planning":null,"max_iterations":null,"depth":1,"recorded":0,"iteration":2,"epoch":1,"started_at":"2026-01-01T00:00:00+00:00","step":{"id":"b","tool_hints":[],"model_hint":null,"approved_risk":null},"messages":[{"role":"user","content":"Look at two"},{"role":"assistant","content":"","tool_calls":[{"id":"c0","name":"look","arguments":{"what":"place 0"}}]},{"role":"tool","content":"saw place 0","tool_call_id":"c0"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"look","arguments":{"what":"place 1"}}]},{"role":"tool","content":"saw place 1","tool_call_id":"c1"},{"role":"assistant","content":"Now I stall.","tool_calls":[{"id":"c2","name":"stall","arguments":{"what":"here"}}]}],"tools":["look","stall","datetime.now","memory.search","load_tools","calculator","memory.write","files.read","files.list","http.request"],"pending":[{"id":"c2","name":"stall","arguments":{"what":"here"}}],"results":[],"grants":{},"active_seconds":0.0,"tally":{"usage":{"input_tokens":6519,"output_tokens":142,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"metered":{"input_tokens":6519,"output_tokens":142,"cost_micros":0,"cached_input_tokens":0,"unpriced_tokens":0},"model_calls":7,"tool_calls":6,"capped_calls":{},"untrusted_sources":[]},"extensions":{"tool_filter.selected":true,"planning.flat":true,"agentic_loop.detector":{"limits":{"window":30,"repeat_warning":10,"repeat_critical":20,"repeat_breaker":30,"poll_warning":3,"poll_critical":5,"ping_pong_window":6,"ping_pong_critical":10,"no_progress_critical":30,"criticals":3},"calls":[["look {\"what\":\"place 0\"}","=saw place 0"],["look {\"what\":\"place 1\"}","=saw place 1"],["stall {\"what\":\"here\"}",null]],"warned":[],"criticals":0,"tripped":false,"repeats":0},"agentic_loop.judgement":[2,{},"",[]],"tool_limits.reserved":["c2"]}}}}}}','[]',NULL,NULL,0,0);
CREATE TABLE sessions (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	title TEXT NOT NULL, 
	model TEXT, 
	last_seq BIGINT NOT NULL, 
	said BIGINT NOT NULL, 
	created_at DATETIME NOT NULL, 
	updated_at DATETIME NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "sessions" VALUES(1,'rounds','ada','',NULL,5,5,'2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000');
INSERT INTO "sessions" VALUES(2,'plan','ada','',NULL,1,1,'2026-01-01 00:00:00.000000','2026-01-01 00:00:00.000000');
CREATE TABLE sophon_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT sophon_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "sophon_version" VALUES('0010');
CREATE TABLE spending (
	provider TEXT NOT NULL, 
	period TEXT NOT NULL, 
	amount BIGINT NOT NULL, 
	PRIMARY KEY (provider, period)
);
INSERT INTO "spending" VALUES('function','2026-01-01',11891);
INSERT INTO "spending" VALUES('function','2026-01',0);
CREATE TABLE texts (
	session INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	text TEXT, 
	parts TEXT, 
	PRIMARY KEY (session, id), 
	FOREIGN KEY(session) REFERENCES sessions (number) ON DELETE CASCADE
);
CREATE INDEX attempts_by_day ON attempts (day);
CREATE INDEX attempts_by_session ON attempts (session_id);
CREATE INDEX approvals_by_session ON approvals (session_id);
CREATE INDEX journal_by_turn ON journal (turn);
CREATE INDEX memories_by_scope ON memories (scope);
CREATE INDEX runs_by_session ON runs (session_id, number);
CREATE INDEX runs_by_owner ON runs (owner, number);
CREATE INDEX runs_by_status ON runs (status, number);
CREATE INDEX inbound_by_run ON inbound (run);
CREATE INDEX outbound_by_run ON outbound (run_id);
CREATE INDEX outbound_open ON outbound (channel, open, account, chat, number);
CREATE INDEX events_by_time ON events (at);
CREATE INDEX notes_by_kind ON notes (kind, at);
CREATE INDEX runs_by_end ON runs (finished_at);
CREATE INDEX outbound_by_status ON outbound (status, created_at);
CREATE INDEX outbound_dead ON outbound (number) WHERE status = 'dead';
CREATE INDEX outbound_by_platform_id ON outbound (platform_id);
CREATE INDEX runs_signalled ON runs (number) WHERE signalled;
CREATE INDEX approvals_open ON approvals (asked_at, number) WHERE decision IS NULL;
CREATE INDEX sessions_by_update ON sessions (updated_at, number);
CREATE INDEX sessions_by_owner ON sessions (owner, updated_at, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',4);
COMMIT;
