const { io } = require("socket.io-client");
const readline = require("node:readline/promises").createInterface({ input: process.stdin, output: process.stderr });

const [url, token, content] = process.argv.slice(2);
const socket = io(url, { auth: { token } });
const leave = () => { readline.close(); socket.close(); };

// A large text is not in the event: `large` says where it is.
const whole = async (data, name) => {
  if (!data.large?.[name]) return data[name];
  const response = await fetch(url + data.large[name].url, { headers: { Authorization: `Bearer ${token}` } });
  return (await response.json()).text;
};

let written = ""; // the reply so far
let characters = 0; // its length: offsets count characters beyond the BMP as one
socket.on("stream_reset", () => { written = ""; characters = 0; });
socket.on("stream_chunk", (data) => {
  if (data.large || data.offset !== characters) return;
  written += data.text;
  characters += [...data.text].length;
  process.stdout.write(data.text);
});
socket.on("tool_call_started", (data) => console.log(`[${data.tool}]`));
for (const end of ["task_completed", "task_failed", "task_cancelled"])
  socket.on(end, async (data) => {
    console.log((await whole(data, "text")).slice(written.length)); // what was not streamed
    leave();
  });
const ask = async (data) => {
  const shown = (await whole(data, "full_preview")) || (await whole(data, "preview"));
  const decision = (await readline.question(`${shown}\napprove or reject? `)).trim();
  socket.emit("decide_approval", { approval_id: data.approval_id, decision }, (said) => said.error?.code === "input" && ask(data));
};
socket.on("approval_requested", ask);
socket.on("connect_error", (error) => { console.error(error.message); leave(); });
socket.once("connect", () =>
  socket.emit("send_message", { content }, (answer) => { console.log(answer); if (!answer.ok) leave(); }));
