// Where the page begins.
import { render } from "preact";
import { begin } from "./model/app";
import { Page } from "./view/page";

const place = document.getElementById("page")!;
place.replaceChildren();
render(<Page />, place);
void begin();
