"""Spanish grammar of requests."""

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

_ENCLITICS = r"(?:me|te|se|nos)?(?:l[oa]s?|les?)?"
_FILES = (
    rf"{FILE_NAME}|archivos?|ficheros?|carpetas?|directorios?|csv|json|hojas? de calculo|documentos?"
    rf"|listas?(?: de \w+)?|notas"
)
_MACHINE = (
    rf"{MACHINE}|discos?|memoria|procesos?|servicios?|servidor(?:es)?|maquina|ordenador|computadora|equipo"
    rf"|pruebas|tests?|comando"
    r"|programa|paquetes?|rama|temporales|cache|red|contenedor(?:es)?|repositorio|registro|puerto"
)
_REMINDERS = (
    r"recordatorios?|alarmas?|citas?|eventos?|reuniones?|reunion|temporizador(?:es)?|tareas? "
    r"programadas?|tareas?|avisos?"
)


def _ar(stems: str) -> str:
    return join_forms(stems, rf"(?:a|ar|e|es|as|en|ad|ando){_ENCLITICS}")


def _er(stems: str) -> str:
    return join_forms(stems, rf"(?:e|er|ir|a|as|an|es|id|iendo){_ENCLITICS}")


def _short(words: str) -> str:
    return join_forms(words, _ENCLITICS)


SPANISH: Final = Grammar(
    common=split_words(
        "el la los las un una unos de del al y o que en es son con por para mi mis tu tus su sus me te "
        "se lo le les no si como"
        " cual cuando donde quien cuanto cuantos cuanta esta este esto estas estos eso ese esa hay ya "
        "muy mas pero porque"
        " puedes podrias favor necesito quiero hola gracias tengo tiene mañana manana todos todas cada a"
    ),
    polite=(
        r"(?:me |te |se )?(?:puedes|puede|podrias|podria|podes|quieres|querrias)(?: \w+){0,2}|(?:me|nos) "
        r"\w{2,12}[ae]s|te importa(?:ria)?|necesito|quiero"
        r"|quisiera|me gustaria|seria posible|hace falta"
    ),
    questions=r"que|cual(?:es)?|como|por que|quien(?:es)?|cuando|donde|cuant[oa]s?|esta|estan|hay|es|son",
    definitions=r"que (?:es|son) (?:una? )?\w+\s*\??$|(?:que hace|como funciona|que significa|para que sirve)\b",
    talk="|".join(
        [
            _ar(
                "cuent explic compar ensen mostr muestr opin piens recomiend revis calific nombr enumer "
                "analiz consult mir busc"
            ),
            _er("resum le describ respond"),
            _short("di dime dame dar traduce traducir traduzca lee leer haz hacer ve ver list listar lista resumir"),
        ]
    ),
    light="|".join(
        [
            _ar("dej pas prepar us necesit coloc quier sac llev bus"),
            _er("met quer obten"),
            _short("pon poner haz hacer ten tener quiero necesito"),
        ]
    ),
    removals="|".join([_ar("borr elimin quit limpi mat sac anul descart vaci"), _short("suprime suprimir")]),
    intervals=(
        r"cada|todos los|todas las|manana|diariamente|semanalmente|mensualmente|a diario|esta noche"
        r"|lunes|martes|miercoles|jueves"
        r"|viernes|sabados?|domingos?|dentro de|a las? \d{1,2}|en \w+ (?:minutos?|horas?|dias?|semanas?)|diari[oa]s?"
    ),
    negations=r"no|nunca|sin|en vez de|en lugar de|jamas|tampoco",
    reminders=r"no (?:te )?(?:olvid\w+|dudes)(?: en| de)?",
    no_longer=r"ya no|no \w+ mas|deja de|basta|para de|nunca mas|no quiero mas",
    small_talk=r"hola|gracias|buen[oa]s|genial|vale|perfecto|estupendo|adios|que tal|ok|muy amable|bien",
    references=r"haz(?:lo|me lo)|otra vez|de nuevo|lo mismo|repit\w+|uno mas|otra mas|una vez mas",
    confirmations=(
        "si|vale|claro|ok|okay|intentalo de nuevo|otra vez|adelante|hazlo|de acuerdo|por favor|venga|perfecto"
    ),
    requests={
        "mail": RequestWords(
            "|".join(
                [
                    _ar("envi mand avis contest notific inform coment"),
                    _er("escrib respond reenvi"),
                    _short("reenvia dile dales"),
                ]
            ),
            r"correos?|e-?mails?|mails?|mensajes?|respuesta",
        ),
        "schedule": RequestWords(
            "|".join(
                [
                    _ar("recuerd record program agend avis despiert vigil monitoriz monitore reanud reserv notific"),
                    r"hazme saber|estate atento",
                ]
            ),
            _REMINDERS,
        ),
        "schedule_end": RequestWords(
            "|".join(
                [_ar("cancel par paus desactiv silenci anul"), _er("deten suspend interrump"), r"deja de|dejes de"]
            ),
            rf"{_REMINDERS}|diari[oa]",
        ),
        "agent": RequestWords(r"agentes?|bots?|asistentes?|deleg\w{1,6}|en segundo plano|continuamente"),
        "goal": RequestWords(r"objetivos?|proyectos?|metas?|investig\w{1,6}|informe|luego|despues|paso a paso|plan"),
        "file": RequestWords(
            "|".join(
                [
                    _ar(
                        "guard apunt anot cre edit cambi anad agreg copi borr elimin renombr redact gener "
                        "export actualiz insert"
                        " reemplaz modific registr orden arregl document program formate almacen archiv"
                    ),
                    _er("escrib mov muev corrij correg corrig conviert convert sustitu anad"),
                ]
            ),
            _FILES,
        ),
        "command": RequestWords(
            "|".join(
                [
                    _ar(
                        "ejecut instal desinstal compil prueb prob calcul clon arranc lanz descarg actualiz "
                        "despleg despliegu"
                        " empaquet mat inici apag par mont"
                    ),
                    _er("reinici corr comprim descomprim constru construy deten extra"),
                    _ar("reinici"),
                ]
            ),
            rf"{_MACHINE}|archivos?|ficheros?|carpetas?|{FILE_NAME}",
            rf"{_MACHINE}|(?:funcionando|corriendo|levantado|caido|instalad[oa]|activo)\s*\?*$|espacio"
            rf"|carpetas?|directorios?",
        ),
        "web": RequestWords(
            "|".join(
                [
                    _ar("envi mand public llam actualiz borr registr reserv compr apunt rellen carg"),
                    _er("sub inscrib ped pid"),
                    r"da(?:me)? de alta|haz (?:un |una )?(?:post|peticion)",
                ]
            ),
            rf"{ADDRESS}|webhooks?|api|endpoint|formulario|peticion",
        ),
        "memory": RequestWords(_ar("olvid borr elimin quit")),
        "remember": RequestWords(
            "|".join(
                [
                    _ar("recuerd record apunt anot memoriz guard"),
                    r"ten(?:lo|er(?:lo)?)? (?:en cuenta|presente)",
                    r"acuerdate",
                ]
            )
        ),
    },
)
