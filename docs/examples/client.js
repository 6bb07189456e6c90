const { io } = require("socket.io-client");
const readline = require("node:readline/promises").createInterface({ input: process.stdin, output: process.stderr });

const [url, token, content] = process.argv.slice(2);
const socket = io(url, { auth: { token } });
const leave = () => { readline.close(); socket.close(); };
const whole = async (data, name) => { // a large text is not in the event, but at a URL of the host
  if (!data.large?.[name]) return data[name];
  return (await (await fetch(url + data.large[name].url, { headers: { Authorization: `Bearer ${token}` } })).json()).text;
};

socket.on("stream_chunk", (data) => process.stdout.write(data.text));
socket.on("tool_call_started", (data) => console.log(`[${data.tool}]`));
for (const end of ["task_completed", "task_failed", "task_cancelled"])
  socket.on(end, async (data) => { if (data.large) console.log(`\n${await whole(data, "text")}`); leave(); });
let asking = false, ended = false; // at the end of the input nobody is there to ask: the call waits for somebody else
readline.on("close", () => { ended = true; if (asking) socket.close(); });
const ask = async (data) => {
  asking = true;
  const shown = (await whole(data, "full_preview")) || (await whole(data, "preview"));
  if (ended) return socket.close();
  const decision = (await readline.question(`${shown}\napprove or reject? `)).trim();
  socket.emit("decide_approval", { approval_id: data.approval_id, decision }, (said) => said.error?.code === "input" && ask(data));
};
socket.on("approval_requested", ask);
socket.on("connect_error", (error) => { console.error(error.message); leave(); });
socket.once("connect", () =>
  socket.emit("send_message", { content }, (answer) => { console.log(answer); if (!answer.ok) leave(); }));
