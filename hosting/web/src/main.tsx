// Entry point of the web page.
import { render } from "preact";
import { PAGES } from "./features/pages";
import { start } from "./model/app-state";
import { installPages } from "./model/router";
import { loadLanguage, preferredLanguage } from "./text/translate";
import { App } from "./view/app";

document.documentElement.lang = await loadLanguage(preferredLanguage(), navigator.languages);
const container = document.getElementById("page")!;
container.replaceChildren();
installPages(PAGES);
render(<App />, container);
void start();
