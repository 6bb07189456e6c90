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
INSERT INTO "approvals" VALUES(1,'apr_57778753deb00b4dfc7d','approval','{"id":"apr_57778753deb00b4dfc7d","kind":"tool","run_id":"00000000000000000003","call_id":"c2","tool":"pay","arguments":{"to":"Carol"},"risk":"high","digest":"57778753deb00b4dfc7de8b4ecd3408d9a3486df6cb01a57c867580e2bd2cbbb","preview":"Run pay\n  to: Carol","editable":true,"expires_at":"2026-01-01T00:09:10+00:00","session_id":"approval"}','2026-01-01 00:04:10.000000',NULL,NULL);
INSERT INTO "approvals" VALUES(2,'apr_d18a87d5bffc1509caf9','plan','{"id":"apr_d18a87d5bffc1509caf9","kind":"plan","run_id":"00000000000000000004","call_id":"plan_00000000000000000005","tool":"plan","arguments":{"id":"plan_00000000000000000005","goal":"two things","steps":[{"id":"a","description":"Pay Bob","depends_on":[],"tool_hints":["pay"],"estimated_risk":"high","model_hint":null},{"id":"b","description":"Say something","depends_on":["a"],"tool_hints":[],"estimated_risk":"low","model_hint":null}]},"risk":"high","digest":"d18a87d5bffc1509caf9da8b4ca38d059f6833133c1f57997accae386bd17bfa","preview":"Run a plan of 2 steps: two things\n  1. a: Pay Bob (risk high; tools pay)\n  2. b: Say something (risk low; after a)","editable":false,"expires_at":"2026-01-01T00:09:30+00:00","session_id":"plan"}','2026-01-01 00:04:30.000000',NULL,NULL);
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
	at DATETIME NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "attempts" VALUES(1,'2026-01-01','2026-01','function','function','reply','chat','00000000000000000001',1005,2,0,0,'2026-01-01 00:03:50.000000');
INSERT INTO "attempts" VALUES(2,'2026-01-01','2026-01','function','function','reply','approval','00000000000000000003',1006,27,0,0,'2026-01-01 00:04:10.000000');
INSERT INTO "attempts" VALUES(3,'2026-01-01','2026-01','function','function','plan','plan','00000000000000000004',559,58,0,0,'2026-01-01 00:04:30.000000');
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
INSERT INTO "event_logs" VALUES(1,'chat',11);
INSERT INTO "event_logs" VALUES(2,'approval',7);
INSERT INTO "event_logs" VALUES(3,'plan',6);
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
INSERT INTO "events" VALUES(1,1,'task_queued','00000000000000000001','{"session_id":"chat","task_id":"00000000000000000001","run_id":"00000000000000000001","position":0,"text":"hello"}','2026-01-01 00:02:45.000000');
INSERT INTO "events" VALUES(1,2,'task_started','00000000000000000001','{"session_id":"chat","task_id":"00000000000000000001","run_id":"00000000000000000001","started_at":"2026-01-01T00:03:50+00:00"}','2026-01-01 00:03:50.000000');
INSERT INTO "events" VALUES(1,3,'message','00000000000000000001','{"session_id":"chat","task_id":"00000000000000000001","run_id":"00000000000000000001","message_id":"chat:1","role":"user","content":"hello"}','2026-01-01 00:03:50.000000');
INSERT INTO "events" VALUES(1,4,'model_attempt','00000000000000000001','{"session_id":"chat","task_id":"00000000000000000001","run_id":"00000000000000000001","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1005,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0},"detail":""}','2026-01-01 00:03:50.000000');
INSERT INTO "events" VALUES(1,5,'message','00000000000000000001','{"session_id":"chat","task_id":"00000000000000000001","run_id":"00000000000000000001","message_id":"chat:2","role":"assistant","content":"HELLO"}','2026-01-01 00:03:55.000000');
INSERT INTO "events" VALUES(1,6,'task_completed','00000000000000000001','{"session_id":"chat","task_id":"00000000000000000001","run_id":"00000000000000000001","text":"HELLO","finish_reason":"stop","usage":{"input_tokens":1005,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0},"duration_ms":5000}','2026-01-01 00:03:55.000000');
INSERT INTO "events" VALUES(1,7,'task_queued','00000000000000000002','{"session_id":"chat","task_id":"00000000000000000002","run_id":"00000000000000000002","position":0,"text":"fail please"}','2026-01-01 00:03:55.000000');
INSERT INTO "events" VALUES(1,8,'task_started','00000000000000000002','{"session_id":"chat","task_id":"00000000000000000002","run_id":"00000000000000000002","started_at":"2026-01-01T00:03:55+00:00"}','2026-01-01 00:03:55.000000');
INSERT INTO "events" VALUES(1,9,'message','00000000000000000002','{"session_id":"chat","task_id":"00000000000000000002","run_id":"00000000000000000002","message_id":"chat:3","role":"user","content":"fail please"}','2026-01-01 00:04:00.000000');
INSERT INTO "events" VALUES(1,10,'model_attempt','00000000000000000002','{"session_id":"chat","task_id":"00000000000000000002","run_id":"00000000000000000002","purpose":"reply","model":"function/function","outcome":"model","duration_ms":0,"usage":{"input_tokens":0,"output_tokens":0,"cost_micros":0,"cached_input_tokens":0},"detail":"function/function: the model broke"}','2026-01-01 00:04:00.000000');
INSERT INTO "events" VALUES(1,11,'task_failed','00000000000000000002','{"session_id":"chat","task_id":"00000000000000000002","run_id":"00000000000000000002","error":{"code":"model","message":"function/function: the model broke","id":"00000000000000000002"},"text":"","finish_reason":"error","usage":{"input_tokens":0,"output_tokens":0,"cost_micros":0,"cached_input_tokens":0},"duration_ms":5000}','2026-01-01 00:04:00.000000');
INSERT INTO "events" VALUES(2,1,'task_queued','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","position":0,"text":"Pay Carol"}','2026-01-01 00:04:00.000000');
INSERT INTO "events" VALUES(2,2,'task_started','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","started_at":"2026-01-01T00:04:00+00:00"}','2026-01-01 00:04:00.000000');
INSERT INTO "events" VALUES(2,3,'message','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","message_id":"approval:1","role":"user","content":"Pay Carol"}','2026-01-01 00:04:10.000000');
INSERT INTO "events" VALUES(2,4,'model_attempt','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","purpose":"reply","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":1006,"output_tokens":27,"cost_micros":0,"cached_input_tokens":0},"detail":""}','2026-01-01 00:04:10.000000');
INSERT INTO "events" VALUES(2,5,'approval_requested','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","approval_id":"apr_57778753deb00b4dfc7d","kind":"tool","tool":"pay","risk":"high","arguments":{"to":"Carol"},"preview":"Run pay\n  to: Carol","editable":true,"expires_at":"2026-01-01T00:09:10+00:00"}','2026-01-01 00:04:10.000000');
INSERT INTO "events" VALUES(2,6,'tool_call_started','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c1","tool":"look","arguments_digest":"8fe11cfb0c8870ffe11481895255c50e5531cbf13f45a3890c4063d9996f0d2c","arguments":{"what":"the bill"}}','2026-01-01 00:04:15.000000');
INSERT INTO "events" VALUES(2,7,'tool_call_completed','00000000000000000003','{"session_id":"approval","task_id":"00000000000000000003","run_id":"00000000000000000003","call_id":"c1","tool":"look","outcome":"completed","duration_ms":0,"result":"saw the bill"}','2026-01-01 00:04:15.000000');
INSERT INTO "events" VALUES(3,1,'task_queued','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","position":0,"text":"Do two things"}','2026-01-01 00:04:30.000000');
INSERT INTO "events" VALUES(3,2,'task_started','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","started_at":"2026-01-01T00:04:30+00:00"}','2026-01-01 00:04:30.000000');
INSERT INTO "events" VALUES(3,3,'message','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","message_id":"plan:1","role":"user","content":"Do two things"}','2026-01-01 00:04:30.000000');
INSERT INTO "events" VALUES(3,4,'model_attempt','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","purpose":"plan","model":"function/function","outcome":"ok","duration_ms":0,"usage":{"input_tokens":559,"output_tokens":58,"cost_micros":0,"cached_input_tokens":0},"detail":""}','2026-01-01 00:04:30.000000');
INSERT INTO "events" VALUES(3,5,'plan_proposed','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","plan":{"id":"plan_00000000000000000005","goal":"two things","steps":[{"id":"a","description":"Pay Bob","depends_on":[],"tool_hints":["pay"],"estimated_risk":"high","model_hint":null},{"id":"b","description":"Say something","depends_on":["a"],"tool_hints":[],"estimated_risk":"low","model_hint":null}]}}','2026-01-01 00:04:30.000000');
INSERT INTO "events" VALUES(3,6,'approval_requested','00000000000000000004','{"session_id":"plan","task_id":"00000000000000000004","run_id":"00000000000000000004","approval_id":"apr_d18a87d5bffc1509caf9","kind":"plan","tool":"plan","risk":"high","arguments":{"id":"plan_00000000000000000005","goal":"two things","steps":[{"id":"a","description":"Pay Bob","depends_on":[],"tool_hints":["pay"],"estimated_risk":"high","model_hint":null},{"id":"b","description":"Say something","depends_on":["a"],"tool_hints":[],"estimated_risk":"low","model_hint":null}]},"preview":"Run a plan of 2 steps: two things\n  1. a: Pay Bob (risk high; tools pay)\n  2. b: Say something (risk low; after a)","editable":false,"expires_at":"2026-01-01T00:09:30+00:00"}','2026-01-01 00:04:30.000000');
CREATE TABLE inbound (
	channel TEXT NOT NULL, 
	account TEXT NOT NULL, 
	external_id TEXT NOT NULL, 
	run INTEGER NOT NULL, 
	PRIMARY KEY (channel, account, external_id), 
	FOREIGN KEY(run) REFERENCES runs (number) ON DELETE CASCADE
);
INSERT INTO "inbound" VALUES('hub','','m1',1);
CREATE TABLE journal (
	run_id TEXT NOT NULL, 
	call_id TEXT NOT NULL, 
	turn TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	result TEXT, 
	PRIMARY KEY (run_id, call_id)
);
INSERT INTO "journal" VALUES('00000000000000000003','c1','00000000000000000003','look','{"call_id":"c1","tool":"look","text":"saw the bill","outcome":"completed","duration_ms":0}');
CREATE TABLE memories (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	category TEXT NOT NULL, 
	text TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "memories" VALUES(1,'m1','ada','fact','the office is in Oslo','chat','2026-01-01 00:04:35.000000');
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
INSERT INTO "notes" VALUES(1,'telegram','42','chat','7','{"session":"telegram:42:7:1"}','2026-01-01 00:04:35.000000');
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
	created_at DATETIME NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "outbound" VALUES(1,'e1','00000000000000000001','telegram','42','7','answer','{"text":"HELLO"}',0,NULL,'pending',1,0,0,'',NULL,'2026-01-01 00:04:35.000000');
INSERT INTO "outbound" VALUES(2,'e2',NULL,'telegram','42','8','note','{"text":"lost"}',0,NULL,'dead',0,1,0,'blocked by the user',NULL,'2026-01-01 00:04:35.000000');
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
INSERT INTO "records" VALUES(1,1,'message','00000000000000000001','{"role":"user","content":"hello"}','{}',1,'2026-01-01 00:03:50.000000');
INSERT INTO "records" VALUES(1,2,'message','00000000000000000001','{"role":"assistant","content":"HELLO"}','{}',1,'2026-01-01 00:03:55.000000');
INSERT INTO "records" VALUES(1,3,'message','00000000000000000002','{"role":"user","content":"fail please"}','{}',1,'2026-01-01 00:03:55.000000');
INSERT INTO "records" VALUES(1,4,'failed','00000000000000000002',NULL,'{"code":"model","message":"function/function: the model broke","id":"00000000000000000002"}',0,'2026-01-01 00:04:00.000000');
INSERT INTO "records" VALUES(2,1,'message','00000000000000000003','{"role":"user","content":"Pay Carol"}','{}',1,'2026-01-01 00:04:00.000000');
INSERT INTO "records" VALUES(2,2,'suspended','00000000000000000003',NULL,'{}',0,'2026-01-01 00:04:30.000000');
INSERT INTO "records" VALUES(3,1,'message','00000000000000000004','{"role":"user","content":"Do two things"}','{}',1,'2026-01-01 00:04:30.000000');
INSERT INTO "records" VALUES(3,2,'suspended','00000000000000000004',NULL,'{}',0,'2026-01-01 00:04:35.000000');
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
	cancel_requested BOOLEAN NOT NULL, 
	UNIQUE (id), 
	FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
INSERT INTO "runs" VALUES(1,'00000000000000000001','chat','ada','hub','{}','hello','{"stream":false,"model":null,"planning":null,"trace":null}','completed','2026-01-01 00:00:00.000000','2026-01-01 00:02:45.000000','2026-01-01 00:03:55.000000',1,NULL,'[]','{"text":"HELLO","finish_reason":"stop","usage":{"input_tokens":1005,"output_tokens":2,"cost_micros":0,"cached_input_tokens":0},"detail":{}}',NULL,0);
INSERT INTO "runs" VALUES(2,'00000000000000000002','chat','ada','local','{}','fail please','{"stream":false,"model":null,"planning":null,"trace":null}','failed','2026-01-01 00:03:55.000000','2026-01-01 00:03:55.000000','2026-01-01 00:04:00.000000',1,NULL,'[]',NULL,'{"code":"model","message":"function/function: the model broke","id":"00000000000000000002"}',0);
INSERT INTO "runs" VALUES(3,'00000000000000000003','approval','ada','local','{}','Pay Carol','{"stream":true,"model":null,"planning":"Never","trace":null}','suspended','2026-01-01 00:04:00.000000','2026-01-01 00:04:00.000000',NULL,1,'{"version":1,"run_id":"00000000000000000003","session_id":"approval","text":"Pay Carol","principal":"ada","channel":"local","stream":true,"model":null,"planning":"Never","depth":0,"recorded":1,"iteration":0,"epoch":1,"started_at":"2026-01-01T00:04:00+00:00","step":null,"messages":[{"role":"user","content":"Pay Carol"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"look","arguments":{"what":"the bill"}},{"id":"c2","name":"pay","arguments":{"to":"Carol"}}]}],"tools":["pay","look","datetime.now","memory.search","load_tools","calculator","memory.write","files.read","files.list","http.request"],"pending":[{"id":"c2","name":"pay","arguments":{"to":"Carol"}}],"results":[{"call_id":"c1","tool":"look","text":"saw the bill","outcome":"completed","duration_ms":0}],"grants":{},"active_seconds":25.0,"tally":{"usage":{"input_tokens":1006,"output_tokens":27,"cost_micros":0,"cached_input_tokens":0},"metered":{"input_tokens":1006,"output_tokens":27,"cost_micros":0,"cached_input_tokens":0},"model_calls":1,"tool_calls":1},"extensions":{"planning.flat":true,"agentic_loop.detector":{"limits":{"window":30,"repeat_warning":10,"repeat_critical":20,"repeat_breaker":30,"poll_warning":3,"poll_critical":5,"ping_pong_window":6,"criticals":3},"calls":[["look {\"what\":\"the bill\"}",null],["pay {\"to\":\"Carol\"}",null]],"warned":[],"criticals":0,"tripped":false},"agentic_loop.judgement":[0,{},""],"approval.asked":["apr_57778753deb00b4dfc7d"]}}','["apr_57778753deb00b4dfc7d"]',NULL,NULL,0);
INSERT INTO "runs" VALUES(4,'00000000000000000004','plan','ada','local','{}','Do two things','{"stream":false,"model":null,"planning":"Always","trace":null}','suspended','2026-01-01 00:04:30.000000','2026-01-01 00:04:30.000000',NULL,1,'{"version":1,"run_id":"00000000000000000004","session_id":"plan","text":"Do two things","principal":"ada","channel":"local","stream":false,"model":null,"planning":"Always","depth":0,"recorded":1,"iteration":0,"epoch":1,"started_at":"2026-01-01T00:04:30+00:00","step":null,"messages":[{"role":"user","content":"Do two things"}],"tools":["pay","look","datetime.now","memory.search","load_tools","calculator","memory.write","files.read","files.list","http.request"],"pending":[],"results":[],"grants":{},"active_seconds":0.0,"tally":{"usage":{"input_tokens":559,"output_tokens":58,"cost_micros":0,"cached_input_tokens":0},"metered":{"input_tokens":559,"output_tokens":58,"cost_micros":0,"cached_input_tokens":0},"model_calls":1,"tool_calls":0},"extensions":{"planning.work":{"progress":{"plan":{"id":"plan_00000000000000000005","goal":"two things","steps":[{"id":"a","description":"Pay Bob","depends_on":[],"tool_hints":["pay"],"estimated_risk":"high","model_hint":null},{"id":"b","description":"Say something","depends_on":["a"],"tool_hints":[],"estimated_risk":"low","model_hint":null}]},"states":{"a":{"status":"pending","text":"","reason":"","tries":0},"b":{"status":"pending","text":"","reason":"","tries":0}}},"leave":"open","turns":{}},"approval.asked":["apr_d18a87d5bffc1509caf9"]}}','["apr_d18a87d5bffc1509caf9"]',NULL,NULL,0);
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
INSERT INTO "sessions" VALUES(1,'chat','ada','',NULL,4,3,'2026-01-01 00:00:00.000000','2026-01-01 00:04:00.000000');
INSERT INTO "sessions" VALUES(2,'approval','ada','',NULL,2,1,'2026-01-01 00:04:00.000000','2026-01-01 00:04:30.000000');
INSERT INTO "sessions" VALUES(3,'plan','ada','',NULL,2,1,'2026-01-01 00:04:30.000000','2026-01-01 00:04:35.000000');
CREATE TABLE sophon_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT sophon_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "sophon_version" VALUES('0003');
CREATE TABLE spending (
	provider TEXT NOT NULL, 
	period TEXT NOT NULL, 
	amount BIGINT NOT NULL, 
	PRIMARY KEY (provider, period)
);
INSERT INTO "spending" VALUES('function','2026-01-01',2657);
INSERT INTO "spending" VALUES('function','2026-01',0);
CREATE INDEX attempts_by_session ON attempts (session_id);
CREATE INDEX attempts_by_day ON attempts (day);
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('runs',4);
INSERT INTO "sqlite_sequence" VALUES('outbound',2);
COMMIT;
