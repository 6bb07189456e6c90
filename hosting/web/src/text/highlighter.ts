// Syntax highlighter with its languages; loaded when the first code is shown.
import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

export const highlighter = createLowlight({ bash, cpp, csharp, css, diff, go, ini, java, json, python, rust, sql, typescript, xml, yaml });
highlighter.registerAlias({ typescript: ["javascript", "js", "jsx", "ts", "tsx"], bash: ["sh", "shell", "console", "zsh"], cpp: ["c"] });
