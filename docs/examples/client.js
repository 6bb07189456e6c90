const { io } = require("socket.io-client");
const readline = require("node:readline/promises").createInterface({ input: process.stdin, output: process.stderr });

const [url, token, content] = process.argv.slice(2);
const socket = io(url, { auth: { token } });
const leave = () => { readline.close(); socket.close(); };

socket.on("stream_chunk", (data) => process.stdout.write(data.text));
socket.on("tool_call_started", (data) => console.log(`[${data.tool}]`));
socket.on("task_completed", leave);
socket.on("task_failed", leave);
socket.on("approval_requested", async (data) => {
  const decision = (await readline.question(`${data.preview}\napprove or reject? `)).trim();
  socket.emit("decide_approval", { approval_id: data.approval_id, decision }, () => {});
});
socket.on("connect_error", (error) => { console.error(error.message); leave(); });
socket.once("connect", () =>
  socket.emit("send_message", { content, session_id: "example" }, (answer) => console.log(answer)));
