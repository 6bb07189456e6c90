// Slash commands of the message field: what a typed text may become, and what a command does when it is sent.
import { t } from "../text/translate";

/** What the commands act on. */
export interface CommandActions {
  chooseModel(model: string | null): void;
  choosePlanning(mode: string | null): void;
  stop(): void;
  startSession(): void;
  fork(): void;
  regenerate(): void;
  continueTurn(): void;
  export(format: "markdown" | "json"): void;
  help(): void;
}

export interface CommandContext {
  models: readonly string[];
  mayChooseModel: boolean;
  /** The skills that people may call; a command of the page goes before one of the same name. */
  skills: readonly CallableSkill[];
}

export interface CallableSkill {
  name: string;
  description: string;
  argument_hint: string;
}

export interface Suggestion {
  /** The text of the message field if it is chosen. */
  text: string;
  description: string;
  /** Whether the command is complete, so that choosing it runs it. */
  isComplete: boolean;
}

export const PLANNING_MODES = ["Auto", "LlmDecides", "Always", "Never"] as const;
/** Argument with which the host chooses again. */
export const HOST_CHOOSES = "auto";
/** Argument with which the planning mode of the host's settings holds again. */
export const SETTINGS_DECIDE = "settings";

interface Command {
  name: string;
  description: () => string;
  arguments?: (context: CommandContext) => readonly string[];
  /** Whether it runs without an argument. */
  runsAlone: boolean;
  run: (argument: string, actions: CommandActions, context: CommandContext) => string;
}

const COMMANDS: readonly Command[] = [
  {
    name: "model",
    description: () => t("choose the model of this conversation"),
    arguments: ({ models }) => [HOST_CHOOSES, ...models],
    runsAlone: false,
    run: (argument, actions, { models, mayChooseModel }) => {
      if (!mayChooseModel) return t("You may not choose the model.");
      if (argument.toLowerCase() === HOST_CHOOSES) actions.chooseModel(null);
      else if (models.includes(argument)) actions.chooseModel(argument);
      else return t("There is no model “{name}”.", { name: argument });
      return "";
    },
  },
  {
    name: "plan",
    description: () => t("choose when the agent makes a plan in this conversation"),
    arguments: () => [SETTINGS_DECIDE, ...PLANNING_MODES],
    runsAlone: false,
    run: (argument, actions) => {
      const mode = PLANNING_MODES.find((each) => each.toLowerCase() === argument.toLowerCase());
      if (argument.toLowerCase() === SETTINGS_DECIDE) actions.choosePlanning(null);
      else if (mode !== undefined) actions.choosePlanning(mode);
      else return t("There is no planning mode “{name}”; choose from {modes}.", { name: argument, modes: PLANNING_MODES.join(", ") });
      return "";
    },
  },
  { name: "stop", description: () => t("stop the running turn"), runsAlone: true, run: (_, actions) => (actions.stop(), "") },
  { name: "new", description: () => t("start a new conversation"), runsAlone: true, run: (_, actions) => (actions.startSession(), "") },
  { name: "fork", description: () => t("copy this conversation"), runsAlone: true, run: (_, actions) => (actions.fork(), "") },
  { name: "regenerate", description: () => t("have the last message answered again"), runsAlone: true, run: (_, actions) => (actions.regenerate(), "") },
  { name: "continue", description: () => t("have the last answer continued"), runsAlone: true, run: (_, actions) => (actions.continueTurn(), "") },
  {
    name: "export",
    description: () => t("save this conversation as a file"),
    arguments: () => ["markdown", "json"],
    runsAlone: true,
    run: (argument, actions) => {
      if (argument !== "" && argument !== "markdown" && argument !== "json") return t("Conversations are saved as markdown or json.");
      actions.export(argument === "json" ? "json" : "markdown");
      return "";
    },
  },
  { name: "help", description: () => t("show the commands and the keyboard shortcuts"), runsAlone: true, run: (_, actions) => (actions.help(), "") },
];

/** Other names of commands; those of the terminal and of chats are understood too. */
const ALIASES: Readonly<Record<string, string>> = { planning: "plan", retry: "regenerate" };

/** As in the terminal: a path such as /etc/hosts, and a text that goes on in a further line, are messages. */
const COMMAND = /^\/([a-z]+)(?:[ \t]+(\S.*?))?\s*$/u;

/** The commands with their descriptions, for the help. */
export function listCommands(): readonly [string, string][] {
  return COMMANDS.map(({ name, description }) => [`/${name}`, description()]);
}

/** Returns what the text of the message field may become; none for a text that is no command. */
export function suggest(text: string, context: CommandContext): readonly Suggestion[] {
  const typed = /^\/([a-z0-9-]*)$/u.exec(text)?.[1];
  if (typed !== undefined) {
    const commands = COMMANDS.filter(({ name }) => name.startsWith(typed) && (name !== "model" || context.mayChooseModel)).map(({ name, description, runsAlone }) => ({
      text: runsAlone ? `/${name}` : `/${name} `,
      description: description(),
      isComplete: runsAlone,
    }));
    const skills = context.skills.filter(({ name }) => name.startsWith(typed) && findCommand(name) === undefined);
    // What follows is the argument of the skill, so choosing one does not send it.
    return [...commands, ...skills.map(({ name, description, argument_hint: hint }) => ({ text: `/${name} `, description: hint ? `${hint} · ${description}` : description, isComplete: false }))];
  }
  const [, name = "", argument = ""] = /^\/([a-z]+) +(\S*)$/u.exec(text) ?? [];
  const command = findCommand(name);
  const wanted = argument.toLowerCase();
  return (command?.arguments?.(context) ?? [])
    .filter((each) => each.toLowerCase().includes(wanted))
    .map((each) => ({ text: `/${name} ${each}`, description: "", isComplete: true }));
}

/** Runs the command of a text. Returns null if the text is a message, else what is wrong with it, empty if nothing is. */
export function runCommand(text: string, actions: CommandActions, context: CommandContext): string | null {
  const [, name, argument = ""] = COMMAND.exec(text.trimEnd()) ?? [];
  if (name === undefined) return null;
  const command = findCommand(name);
  if (command === undefined && context.skills.some((each) => each.name === name)) return null; // the host loads the skill
  if (command === undefined) return t("There is no command /{name}; /help lists the commands.", { name });
  if (argument === "" && !command.runsAlone) return t("What should /{name} choose? Write it behind the command.", { name });
  if (argument !== "" && command.arguments === undefined) return t("/{name} takes nothing behind it.", { name });
  return command.run(argument, actions, context);
}

function findCommand(name: string): Command | undefined {
  return COMMANDS.find((each) => each.name === (ALIASES[name] ?? name));
}
