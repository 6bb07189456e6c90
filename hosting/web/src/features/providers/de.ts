// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Health": "Zustand",
  "Models, and what they are good at": "Modelle, und was sie gut können",
  "Reset": "Zurücksetzen",
  "Reset {provider}": "{provider} zurücksetzen",
  "called again at {time}": "wieder gerufen um {time}",
  "the circuit breaker is open": "der Schutzschalter ist offen",
  "{count} of {total} keys are cooling down": "{count} von {total} Schlüsseln pausieren",
  "{count} of {total} keys were rejected": "{count} von {total} Schlüsseln wurden abgelehnt",
};

export default catalogue;
