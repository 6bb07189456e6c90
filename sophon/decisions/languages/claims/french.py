"""French grammar of claims."""

from typing import Final

from sophon.decisions.languages.claims.claim_grammar import FILES, SYSTEM, WEB, ClaimGrammar

_ADVERBS = (
    r"(?:(?:bien|déjà|aussi|également|maintenant|désormais|tout|juste|automatiquement|correctement|enfin|donc)\s+){0,3}"
)
_CHANGES = (
    "enregistr sauvegard not cré ajout corrig modifi chang renomm déplac copi supprim effac génér export rédig"
    " remplac actualis stock enlev retir rang plac pos configur arrêt annul programm activ désactiv recharg nettoy"
    " vid lanc démarr complét archiv consign group class insér"
)
_COMMANDS = "exécut install désinstall redémarr clon compil déploy télécharg décompress compress zipp"


def _er(stems: str) -> str:
    """Return participle and infinitive of verbs in -er."""
    return rf"(?:{'|'.join(stems.split())})(?:ée?s?|er)"


FRENCH_CLAIMS: Final = ClaimGrammar(
    active=(
        rf"\b(?:j['’](?:(?:y|en|l['’]|les|t['’]|te)\s*)?ai\s+{_ADVERBS}|(?:je (?:te |vous )?(?:l['’]|les "
        rf")?(?:viens de\s+|viens d['’]))|nous avons\s+{_ADVERBS}|on a\s+{_ADVERBS})(?:(?:le|la|les|l['’])\s*)?"
    ),
    passive=rf"\b(?:(?:a|ont)\s+{_ADVERBS}été\s+|est\s+|sont\s+){_ADVERBS}",
    changes=(
        rf"{_er(_CHANGES)}|écrite?s?|écrire|mise?s?(?: à jour| en place| en pause)?|mettre(?: à jour)?|faite?s?"
        r"|inscrite?s?|inscrire|convertie?s?|convertir|construite?s?|sortie?s?|éteinte?s?|éteindre|allumée?s?|allumer"
    ),
    strong={
        "mail": (
            rf"{_er('envoy expédi transfér notifi post')}|répondu|répondre|transmise?s?|transmettre"
            rf"|partie?s?|prévenue?s?"
        ),
        "schedule": _er("programm planifi"),
        "agent": _er("délégu"),
        "command": _er(_COMMANDS),
        "web": rf"{_er('publi post téléversé command réserv achet envoy abonn')}|soumise?s?|soumettre|mise?s? en ligne",
        "memory": rf"{_er('oubli mémoris')}|retenue?s?|retenir",
    },
    nouns={
        "mail": r"e-?mails?|mails?|courriels?|messages?|réponses?|notifications?|photos?|images?",
        "schedule": (
            r"rappels?|alarmes?|réveils?|rendez-vous|minuteurs?|tâches? (?:quotidienne|planifiée"
            r"|hebdomadaire)s?|calendrier|planning"
        ),
        "agent": r"(?:sous-)?agents?|bots?",
        "goal": r"objectifs?",
        "file": rf"{FILES}|fichiers?|dossiers?|répertoires?|configuration|réglages|paramètres",
        "command": (
            rf"{SYSTEM}|serveurs?|services?|paquets?|commandes?|scripts?|tests?|programme|processus"
            rf"|base de données|dépôt|branche|sauvegarde|lumières?|lampes?|chauffage|télé|portes?"
        ),
        "memory": r"(?:ma|en|de la) mémoire|mes souvenirs",
        "web": rf"{WEB}|formulaire|réservation|compte",
    },
    lookups=rf"{_er('cherch vérifi consult regard recherch contrôl mesur lanc')}",
    sources=(
        rf"{SYSTEM}|{WEB}|internet|web|net|google|en ligne|disque|cpu|ram|tests?|commandes?|scripts?|base "
        rf"de données|processus|site|calendrier"
    ),
    states=(
        r"(?:est|sont)\s+(?:maintenant\s+|désormais\s+|bien\s+)?(?:active?s?|en place|en marche|en route"
        r"|opérationnel\w*|partie?s?)|n['’]existe plus"
    ),
    located=r"(?:est|sont|se trouvent?)\s+(?:maintenant\s+|désormais\s+|bien\s+)?(?:dans|sous|sur|là)\s",
    promises=(
        r"je\s+(?:te|vous)\s+(?:préviens|préviendrai|rappelle|rappellerai|réveille|réveillerai|écrirai"
        r"|enverrai)\b.{0,60}?\b(?:demain|chaque|tous les|à \d|dans \w+ (?:minutes?|heures?|jours?))"
    ),
    done=r"c['’]est (?:fait|noté|bon|prêt)|fait|terminé|avec succès|tout est prêt|fini|c['’]est réglé",
    agreed=r"voilà|parfait|d['’]accord|entendu|ok|bien sûr|super|volontiers",
    now=r"maintenant|désormais|à présent",
    text_work=r"ci-dessous|ci-dessus|voici|suivante?s?|(?:ce|ton|votre) (?:message|texte|paragraphe|brouillon|code)",
    hypothetical=r"si|quand|lorsque|lorsqu['’]\w+|dès que|une fois|après|avant|à moins|jusqu['’]à",
    earlier=(
        r"hier|tout à l['’]heure|auparavant|la dernière fois|la semaine dernière|tu (?:as|avais) (?:dit"
        r"|demandé|mentionné)|précédemment|en \d{4}"
    ),
    agents=r"par\s+(?!moi\b|e-?mail|mail|courriel)",
)
