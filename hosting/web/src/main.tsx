// Entry point of the web page.
import { render } from "preact";
import { start } from "./model/app-state";
import { App } from "./view/app";

const container = document.getElementById("page")!;
container.replaceChildren();
render(<App />, container);
void start();
