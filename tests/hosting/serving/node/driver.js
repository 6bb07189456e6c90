// A client that a test drives: commands come as JSON, a line each; everything that happens goes out the same way.
const { io } = require("socket.io-client");
const lines = require("node:readline").createInterface({ input: process.stdin });

const [url, token] = process.argv.slice(2);
const socket = io(url, { auth: { token }, reconnectionDelay: 50, reconnectionDelayMax: 200 });
const tell = (what) => process.stdout.write(JSON.stringify(what) + "\n");

socket.onAny((event, data) => tell({ event, data }));
socket.on("connect", () => tell({ connected: true }));
socket.on("disconnect", (reason) => tell({ connected: false, reason }));
socket.on("connect_error", (error) => tell({ refused: error.data ?? { message: error.message } }));

lines.on("line", (line) => {
  const { number, event, payload, command } = JSON.parse(line);
  if (command === "drop") socket.io.engine.close();
  if (command === "leave") { socket.close(); lines.close(); }
  if (event) socket.emit(event, payload, (answer) => tell({ number, answer }));
});
