// Entry point of the web page.
import { render } from "preact";
import { start } from "./model/app-state";
import { loadLanguage, preferredLanguage } from "./text/translate";
import { App } from "./view/app";

document.documentElement.lang = await loadLanguage(preferredLanguage(), navigator.languages);
const container = document.getElementById("page")!;
container.replaceChildren();
render(<App />, container);
void start();
