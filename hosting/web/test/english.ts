// Put before each test: the language of the page is loaded before anything is drawn.
import { loadLanguage } from "../src/text/translate";

await loadLanguage("en");
