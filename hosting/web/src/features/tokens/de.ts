// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "(empty: never)": "(leer: nie)",
  "Copy the token": "Token kopieren",
  "Copy the token now: it is not shown again.": "Kopieren Sie das Token jetzt: es wird nicht wieder angezeigt.",
  "Days until it expires": "Tage bis zum Ablauf",
  "does not expire": "läuft nicht ab",
  "Everybody on this machine has access. Tokens belong to users: add some to the settings, and restart the host.": "Alle auf diesem Rechner haben Zugang. Tokens gehören zu Benutzern: tragen Sie welche in die Einstellungen ein, und starten Sie den Host neu.",
  "expired": "abgelaufen",
  "last used {time}": "zuletzt benutzt {time}",
  "Level": "Stufe der Rechte",
  "Make a token": "Token erstellen",
  "Make one above for a script or another program; it is shown once.": "Erstellen Sie oben eines für ein Skript oder ein anderes Programm; es wird einmal angezeigt.",
  "never used": "nie benutzt",
  "no": "nein",
  "No tokens.": "Keine Tokens.",
  "Operator": "Operator",
  "Revoke: {name}": "Widerrufen: {name}",
  "revoked": "widerrufen",
  "This host has no users.": "Dieser Host hat keine Benutzer.",
  "until {date}": "bis {date}",
  "Users": "Benutzer",
  "Users and tokens": "Benutzer und Tokens",
  "Users are in {setting} of the settings; a token lets a program act for one of them, with less than the user may do.": "Benutzer stehen in den Einstellungen unter {setting}; ein Token lässt ein Programm für einen von ihnen handeln, mit weniger Rechten als der Benutzer.",
  "valid": "gültig",
  "What it is for": "Wofür es ist",
  "What it may be used for": "Wofür es benutzt werden darf",
  "yes": "ja",
};

export default catalogue;
