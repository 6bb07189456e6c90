const { io } = require("socket.io-client");
const readline = require("node:readline/promises").createInterface({ input: process.stdin, output: process.stderr });

const [url, token, content] = process.argv.slice(2);
const socket = io(url, { auth: { token } });
const leave = () => { readline.close(); socket.close(); };

socket.on("stream_chunk", (data) => process.stdout.write(data.text));
socket.on("tool_call_started", (data) => console.log(`[${data.tool}]`));
for (const end of ["task_completed", "task_failed", "task_cancelled"]) socket.on(end, leave);
const ask = async (data) => {
  const decision = (await readline.question(`${data.full_preview || data.preview}\napprove or reject? `)).trim();
  socket.emit("decide_approval", { approval_id: data.approval_id, decision }, (said) => said.error?.code === "input" && ask(data));
};
socket.on("approval_requested", ask);
socket.on("connect_error", (error) => { console.error(error.message); leave(); });
socket.once("connect", () =>
  socket.emit("send_message", { content }, (answer) => { console.log(answer); if (!answer.ok) leave(); }));
