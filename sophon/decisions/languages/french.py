"""French grammar of requests; accents are folded: `é` is `e`, `œ` is `oe`."""

from typing import Final

from sophon.decisions.languages.request_grammar import (
    ADDRESS,
    FILE_NAME,
    MACHINE,
    Grammar,
    RequestWords,
    join_forms,
    split_words,
)

_ENCLITICS = r"(?:-(?:moi|le|la|les|lui|leur|nous|toi))?(?:-(?:le|la|les|moi|lui))?"
_FILES = rf"{FILE_NAME}|fichiers?|dossiers?|repertoires?|csv|json|tableur|documents?|liste(?: de \w+)?|notes|script"
_MACHINE = (
    rf"{MACHINE}|disques?|memoire|processus|services?|serveurs?|machine|ordinateur|tests?|commande|programme"
    rf"|paquets?|branche"
    r"|temporaires?|cache|reseau|conteneurs?|depot|lignes? du journal|journaux"
)
_REMINDERS = (
    r"rappels?|alarmes?|reveils?|rendez-vous|evenements?|reunions?|minuteurs?|taches? planifiees?"
    r"|notifications?|alertes?"
)


def _er(stems: str) -> str:
    return join_forms(stems, rf"(?:e|er|ez|ons){_ENCLITICS}")


def _other(words: str) -> str:
    return join_forms(words, _ENCLITICS)


FRENCH: Final = Grammar(
    common=split_words(
        "le la les l un une des du de d et ou je j tu il elle on nous vous ils elles ce cet cette ces c "
        "est sont a as ai mon ma mes"
        " ton ta tes son sa ses me te se moi toi que qu qui quoi quel quelle quels quelles comment "
        "pourquoi quand combien dans"
        " sur sous pour par avec sans pas ne n plus y en au aux peux pourrais voudrais veux faut merci "
        "bonjour salut ca tous"
        " toutes chaque demain il encore"
    ),
    polite=(
        r"(?:tu peux|peux-tu|tu pourrais|pourrais-tu|vous pouvez|pouvez-vous|vous pourriez|pourriez-vous"
        r"|tu veux bien|veux-tu)"
        r"|(?:je|j'|j) ?(?:veux|voudrais|aimerais|ai besoin)|tu (?:me|nous)|il (?:me|nous) (?:faut|faudrait)"
        r"|serait-il possible|est-ce que tu p\w+"
    ),
    questions=(
        r"que|qu'|quoi|quel(?:le)?s?|comment|pourquoi|qui|quand|combien|ou|est-ce|lequel|laquelle"
        r"|lesquels|c'est quoi|c'est quand"
        r"|y a-t-il"
    ),
    definitions=(
        r"(?:c'est quoi|qu'est-ce que?) .{0,20}\w+\s*\??$|que (?:fait|font|veut dire|signifie)\b"
        r"|comment (?:marche|fonctionne)\w*"
        r"|a quoi sert"
    ),
    talk="|".join(
        [
            _er(
                "resum expliqu racont montr list compar donn pens recommand cherch regard analys enumer "
                "conseill verifi cit"
            ),
            _other(
                "dis dire dites lis lire lisez traduis traduire traduisez decris decrire reponds repondre "
                "voir compte fais faire"
            ),
        ]
    ),
    light="|".join(
        [
            _er("pass laiss plac pos gard prepar rang utilis sort"),
            _other("mets mettre mettez fais faire faites veux voudrais faut besoin donne sors prends aimerais"),
        ]
    ),
    removals="|".join(
        [_er("supprim effac enlev retir vid nettoi nettoy annul vir"), _other("detruis detruire retire jette")]
    ),
    intervals=(
        r"chaque|tous les|toutes les|demain|quotidien\w*|hebdomadaire\w*|mensuel\w*|ce soir|lundis?"
        r"|mardis?|mercredis?|jeudis?"
        r"|vendredis?|samedis?|dimanches?|dans \w+ (?:minutes?|heures?|jours?|semaines?)|a \d{1,2} ?h|\d{1,2} heures?"
    ),
    negations=r"ne|n'\w+|n|jamais|sans|pas|au lieu de|plutot que",
    reminders=r"(?:n'oubli\w+|ne \w+ oubli\w+|n'hesit\w+) pas(?: de| d'| a)?",
    no_longer=r"(?:ne|n') ?.{1,40}? plus|plus besoin|arret\w+|cesse\w*|ca suffit",
    small_talk=(
        r"salut|bonjour|bonsoir|merci|super|genial|parfait|cool|ok|ca va|au revoir|coucou|c'est gentil"
        r"|d'accord|bien"
    ),
    references=(
        r"(?:re)?fais-le|encore(?: une fois)?|de nouveau|a nouveau|la meme chose|pareil|recommence\w*"
        r"|repet\w+|refais\w*"
    ),
    confirmations=(
        "oui|ouais|ok|okay|d'accord|bien sur|vas-y|fais-le|s'il te plait|stp|encore|encore une "
        "fois|parfait|non|volontiers|allez"
    ),
    requests={
        "mail": RequestWords(
            "|".join(
                [
                    _er("envoi envoy inform notifi avis transfer"),
                    _other("ecris ecrire ecrivez reponds repondre repondez previens prevenir dis-lui dis-leur"),
                ]
            ),
            r"e-?mails?|mails?|courriels?|messages?|reponse",
        ),
        "schedule": RequestWords(
            "|".join(
                [
                    _er("rappel rappell planifi programm alert surveill reveill avertiss notifi signal reserv"),
                    _other("previens prevenir prevenez avertis avertir reprends reprendre"),
                    r"fais-moi savoir|tiens-moi au courant",
                ]
            ),
            _REMINDERS,
        ),
        "schedule_end": RequestWords(
            "|".join(
                [_er("arret annul stopp desactiv suspend cess"), _other("suspends suspendre interromps mets_en_pause")]
            ),
            rf"{_REMINDERS}|taches?|quotidien\w*",
        ),
        "agent": RequestWords(r"(?:sous-)?agents?|bots?|assistants?|delegu\w+|en arriere-plan|en continu"),
        "goal": RequestWords(
            r"objectifs?|projets?|recherches?|rapport|ensuite|apres cela|pas a pas|etape par etape|plan"
        ),
        "file": RequestWords(
            "|".join(
                [
                    _er(
                        "not enregistr sauvegard cre ajout corrig modifi chang renomm deplac copi supprim "
                        "effac gener export sauv"
                        " redig consign remplac complet actualis inser stock liste tri document program cod format"
                    ),
                    _other(
                        "ecris ecrire ecrivez convertis convertir convertissez mets_a_jour inscris inscrire "
                        "transforme transformer"
                    ),
                ]
            ),
            _FILES,
        ),
        "command": RequestWords(
            "|".join(
                [
                    _er(
                        "lanc execut install desinstall demarr redemarr compil test calcul clon compress "
                        "decompress deploi deploy"
                        " telecharg tu arret stopp mont archiv ping zipp"
                    ),
                    _other("construis construire extrais extraire reconstruis"),
                    r"mets? a jour|fais tourner|faire tourner",
                ]
            ),
            rf"{_MACHINE}|fichiers?|dossiers?|repertoires?|{FILE_NAME}",
            rf"{_MACHINE}|tourne|espace|(?:installee?|actif|demarre|lance)\s*\?*$|dossiers?|repertoires?",
        ),
        "web": RequestWords(
            "|".join(
                [
                    _er(
                        "envoi envoy post publi appel appell command reserv achet supprim actualis televers "
                        "upload charg abonn"
                    ),
                    _other("soumets soumettre inscris inscrire remplis remplir mets_en_ligne"),
                ]
            ),
            rf"{ADDRESS}|webhooks?|api|endpoint|formulaire|requete",
        ),
        "memory": RequestWords(_er("oubli supprim effac enlev retir")),
        "remember": RequestWords(
            "|".join(
                [
                    _er("not memoris enregistr gard rappel rappell"),
                    _other("retiens retenir souviens"),
                    r"prends note|garde en tete",
                ]
            )
        ),
    },
)
