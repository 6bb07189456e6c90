"""Spanish grammar of the decision layer, in the notation of `sophon.decisions.message_grammar`, without accents.
Source: WASP, Decision Layer, fast paths.

Imperatives come with their infinitive, the formal form and pronouns (`envi/a/ame/ar/arme/e/eme`).
"""

from typing import Final

GRAMMAR: Final = """
<polite> = por favor | (puedes | podrias | puede | podria | me puedes | me podrias) | (quiero | necesito | quisiera |
  me gustaria) [que] | oye
<before> = <polite> | vamos a
<behind> = por favor | ahora [mismo] | hoy | para mi
<lead> = <start> [<polite>] [me] | y | luego | despues | tambien | por favor
<want> = quiero | necesito | quisiera | me gustaria | dame | consigueme
<a> = un | una | el | la | los | las | mi | mis | tu | tus | este | esta | estos | otro | otra | unos | unas | todos
  los | todas las | todos mis | todas mis

<weekday> = lunes | martes | miercoles | jueves | viernes | sabado/s | domingo/s
<period> = segundo/s | minuto/s | hora/s | dia/s | noche/s | manana/s | tarde/s | semana/s | mes/es | ano/s |
  trimestre | <weekday>
<recurrence> = cada [<amount>] <period> | (todos los | todas las) <period> | diariamente | semanalmente | mensualmente
  | a diario | diari/o/a/os/as | semanal/es | mensual/es | (una vez | dos veces | <amount> veces) (al | a la | por |
  cada) <period> | el (primer/o | ultimo) [dia] de cada mes | los (<weekday> | dias laborables | fines de semana)
<clock> = (a las | a la | a | desde las | antes de las | sobre las) <hour>
<act> = envi/a/ame/anos/ale/ar/arme/e/eme/es | mand/a/ame/anos/ale/ar/arme/e/eme/es | da/me/r/rme/le | de/me |
  di/me/le | decir/me/le | muestra/me | mostrar/me | ensena/me | ensenar/me | comprueba/me | comprobar |
  revis/a/ame/ar/e/es | ejecut/a/ar/e | haz/me/lo | hacer/me | haga/me | public/a/ar/alo | publiqu/e | mir/a/ame/ar/e
  | consult/a/ame/ar/e | le/e/eme/er/erme | escrib/e/eme/ir/irme | inform/a/ame/ar/e | avis/a/ame/ar/arme/e/eme |
  notific/a/ame/ar/arme | recuerd/a/ame/e/eme | recordar/me | vigil/a/ame/ar/e | monitoriz/a/ar/e/ame |
  monitore/a/ar/e | rastre/a/ar/e | sigue | seguir | actualiz/a/ame/ar/e | recopil/a/ame/ar/e | imprim/e/ir |
  resum/e/eme/ir/elo/elos/ela/elas/irlos/irlo | list/a/ame/ar | compar/a/ame/ar/alos/alas/e | cuent/a/ame | contar/me
  | busc/a/ame/ar/arme | busqu/e | encuentr/a/ame/e | encontrar/me | descarg/a/ame/ar | prueba | probar | limpi/a/ar |
  prepar/a/ame/ar/e | program/a/ame/ar/e | crea/me/r/rme | cree | extra/e/eme/er | traduc/e/eme/ir | pon/me/er |
  llam/a/ame/ar | record/arme | sincroniz/a/ar | registr/a/ar | gener/a/ame/ar/e | entreg/a/ame/ar
<work> = <act> | reun/e/eme/ir | investig/a/ame/ar/ue | analiz/a/ame/ar/e | estudi/a/ame/ar/e | reserv/a/ame/ar/e |
  construy/e/eme/a | construir | produc/e/ir | elabor/a/ame/ar/e | present/a/ame/ar/e | guard/a/alo/ame/ar/e |
  planific/a/ame/ar | explic/a/ame/ar | orden/a/ar | calcul/a/ame/ar/e | disen/a/ame/ar | eleg/ir | elig/e/eme |
  redact/a/ame/ar/e | desarroll/a/ar | evalu/a/ame/ar | sub/e/ir | mide | medir | verific/a/ar | rellen/a/ar |
  edit/a/ar | anad/e/eme/ir | responde/r/me
<research> = (haz | hacer) una investigacion | investig/a/ame/ar/ue | busc/a/ame/ar | recopil/a/ame/ar/e |
  reun/e/eme/ir | analiz/a/ame/ar/e | averigu/a/ame/ar | estudi/a/ame/ar/e | explor/a/ar | examin/a/ar
<deliver> = envi/a/ame/anos/ale/ar/arme/e/eme | mand/a/ame/anos/ale/ar/arme/e/eme | escrib/e/eme/ir/irme |
  guard/a/alo/ame/ar | resum/e/eme/elo/elos/ir | public/a/ar/alo | entreg/a/ame/ar | compar/a/ame/ar/alos | di/me/le |
  present/a/ame/ar | prepar/a/ame/ar | gener/a/ame/ar | haz/me | hacer/me | crea/me/r | redact/a/ame/ar |
  elabor/a/ame/ar | da/me | propon/me | produc/e/ir
<build> = escrib/e/eme/ir/irme/a/as | crea/me/r/rme/s | cree/s | haz/me | hacer/me | hag/a/as/ame |
  program/a/ame/ar/e/es | construy/e/eme/a | construir | desarroll/a/ame/ar | gener/a/ame/ar/e | mont/a/ame/ar |
  implement/a/ar | codific/a/ar

<remind> = recuerd/a/ame/eme/en/enme | [me] record/ar/arme/adme/ame | me recuerd/as/a/es/e | acuerdame |
  avis/ame/arme/eme | me avis/as/es/a | (pon/me/er/erme | crea/me/r/rme | anade/me | anadir | haz/me | agrega/me |
  quiero | necesito | dame | programa/me | programar) un (recordatorio | aviso) | recordatorio | que no se me olvide |
  no dejes que olvide | no me dejes olvidar | no me dejes olvidarme de | hazme acordar
<alarm> = despiertame | (pon/me/er | crea | programa | activa) [una | la | mi] (alarma | despertador) | (quiero |
  necesito) (despertarme | una alarma) | alarma
<purpose> = para <text>
<at> = (a las | a la | al | a | para las | para la | sobre las) <time>
<on_day> = [para] [el | este | la] [proximo] <day>
<what> = [que | de que | de | para | lo de | a | sobre] [tengo que | debo] <text>
<after> = (en | dentro de | al cabo de) [un rato de | unos] <number> <unit>
<items> = recordatorios | tareas programadas | programaciones | avisos programados | avisos | alarmas | monitores
<show> = lista/me | listar | muestra/me | mostrar/me | ensena/me | ensenar/me | ver | dame | dime | saca
<mail> = correo/s | correo electronico | correos electronicos | email/s | e-mail/s | mail/s | bandeja de entrada |
  buzon
<mails> = [un] (correo | correo electronico | email | e-mail | mail)
<send> = envia/le/les/r/rle | envie/le | enviar/le | manda/le/les/r/rle | mande/le | escribe/le | escribir/le |
  escriba/le | redacta/r | redacte | envies | mandes
<saying> = diciendo | que diga | que dice | con el texto | con el mensaje | diciendole | para decir/le | para darle |
  para | que
<skills> = habilidades | skills | capacidades
<page_verb> = abre/me | abrir | abra | lee/me | leer | descarga/me/r | visita/r | ve a | ir a | muestra/me |
  mostrar/me | ensename | mira/r | carga/r | navega a | navegar a | consulta/r | obten/er |
  entra en | entrar en | echa un vistazo a | echale un vistazo a
<online> = en internet | en la web | en google | en linea | en la red

[schedule]
<lead> <act> ... <recurrence>
[<clock>] <recurrence> [<clock>] <act>
<lead> <want> [un | una | el | la | mi] .. <recurrence>
<lead> [<day>] [<clock>] (recuerdame | recordarme | recuerdeme | me recuerdes | acuerdame) (que | de | el | la | en |
  a | al | cada | dentro | manana | hoy | <day>)
<lead> (pon/me/er | crea/me/r | haz/me | anade) (un | una) (recordatorio | alarma | aviso | temporizador)
<lead> (programa/me | programar | agenda/me | agendar) (un | una | el | la | mi | esta | este) .. (tarea |
  recordatorio | alarma | aviso | cita | reunion | envio | mensaje | llamada | copia)
<start> (recordatorio | alarma) (para | el | a las) (<day> | <hour>)

[recurrence]
<recurrence>

[continuous]
<lead> (monitoriz/a/ame/ar/e | monitore/a/ame/ar/e | vigil/a/ame/ar/e | rastre/a/ame/ar | sigue | avis/ame/arme (si |
  cuando | de) | notificame)

[agent]
<lead> (crea/me/r/rme/s | cree/s | haz/me | hacer/me | lanz/a/ame/ar | inici/a/ar | desplieg/a/ue | desplegar |
  configur/a/ame/ar | construy/e/eme/a | construir | mont/a/ame/ar | gener/a/ame/ar | pon/er en marcha | arranc/a/ar |
  anade | prepar/a/ame/ar) [<a>] .. (agente/s | subagente/s | sub-agente/s | bot/s | asistente/s)
<lead> <want> [<a>] .. (agente/s | subagente/s | sub-agente/s | bot/s | asistente)
<start> (nuev/o/a (agente | bot | subagente) | creacion de (un | una) .. (agente | bot | subagente))
<lead> <work> ... (continuamente | constantemente | permanentemente | sin parar | las 24 horas | en segundo plano)
<lead> (delega/r | encarga/r) ... a (un | una) .. (agente | subagente | bot)
<lead> (mantente | estate | sigue) (atento | vigilando | pendiente | monitorizando)

[script]
<lead> <build> [<a>] .. (script/s | programa | rastreador | scraper | parser | pipeline | tuberia)
<lead> <want> [<a>] .. (script | scraper | rastreador | pipeline | tuberia)
<lead> (consult/a/ar | sonde/a/ar | interrog/a/ar) .. (api | endpoint)
<lead> (extra/e/eme/er/iga | sac/a/ame/ar | extraccion de) [<a>] .. (datos | tabla/s | enlaces | filas | campos |
  nombres | columnas | valores)
<lead> ([haz | hacer] (scraping | crawling) | scrape/a/ar | rastre/a/ar) [de]
<lead> (analiz/a/ame/ar | parse/a/ame/ar | le/e/er | proces/a/ame/ar) [<a>] .. (json | xml | csv | html | yaml)
<lead> (convierte | convertir) [<a>] .. (json | xml | csv | html | yaml) .. a

[chain]
<lead> <work> ... (luego | despues | finalmente | por ultimo) <work>
<lead> primero ... (luego | despues | segundo | finalmente | por ultimo)
<lead> <work> ... <comma> <work> ... y [luego] <work>
<lead> (crea/me/r | pon/me | anade | haz) (un | una) .. (objetivo | meta)
<start> [nuevo] objetivo <colon>
<lead> trabaja en ... en segundo plano

[report]
<lead> (<build> | prepar/a/ame/ar/e | elabor/a/ame/ar/e | redact/a/ame/ar/e | entreg/a/ame/ar | present/a/ame) [<a>]
  .. (informe/s | reporte | resumen ejecutivo | presentacion | comparativa | analisis de mercado | dossier | estudio |
  post-mortem | plan de negocio)
<lead> <want> [<a>] .. (informe | reporte | presentacion | comparativa | dossier | analisis) (sobre | de | para |
  acerca)

[research]
<lead> <research> ... (y | y luego | y despues | luego) <deliver>

[targets]
precio/s | pagina | sitio | web | servidor | noticias | tiempo | acciones | dolar | euro | oro | petroleo | correo |
  repositorio | bolsa | tipo de cambio

[reminder on a day]
<alarm> <on_day> <at> [<purpose>]
<alarm> <at> <on_day> [<purpose>]
<remind> <on_day> <at> [<what>]
<remind> <at> <on_day> [<what>]
<remind> <what> <on_day> <at>
<remind> <what> <at> <on_day>
<on_day> <at> <remind> [<what>]
<at> <on_day> <remind> [<what>]

[reminder at a time]
<alarm> <at> [<purpose>]
<remind> <at> [<what>]
<remind> <what> <at>
<at> <remind> [<what>]

[reminder after a time]
<alarm> <after> [<purpose>]
<remind> <after> [<what>]
<remind> <what> <after>
<after> <remind> <what>

[list of schedules]
[<show>] [todos | todas] [mis | los | las | la lista de | lista de | una lista de | la lista de mis] [mis | los | las]
  <items> [activos | activas | que tengo | que hay]
lista de [mis | los | las] <items>
(que | cuales) <items> (tengo [puestas | activas | pendientes] | hay | estan activos | estan activas | existen)
  [programados | programadas]
(que | cuales) son (mis | los | las) <items>
que (tengo | hay) programado
que (tareas | avisos | recordatorios) (hay | tengo) [programadas | programados]
(tengo | hay) [algun | algunos | alguna | algunas] (<items> | tarea programada)
algun recordatorio

[removal of a schedule]
(borra/r | borre | elimina/r | elimine | cancela/r | cancele | quita/r | anula/r | suprime | suprimir | deten |
  detener | para | parar) [el | la | mi] (recordatorio | tarea programada | aviso | alarma | monitor | programacion)
  [numero | llamado | llamada | de | sobre] (<title> | <id>)
(borra/r | borre | elimina/r | cancela/r | quita/r | anula/r) [el | la | mi] (recordatorio | tarea programada | aviso)
  (llamado | llamada | de | para | sobre) <titled>

[mail to send]
(dile | decirle | avisa) a <address> que <body>
<send> <mails> (a | para) <address> <saying> <body>
<send> <mails> (a | para) <address> <colon> <body>
<send> [un] mensaje por (correo | email | mail) a <address> <colon> <body>
<send> <mails> (a | para) <address> [con] [el] asunto <subject> [y] [con] [el] (texto | cuerpo | mensaje) <body>

[inbox]
(lee/me | leer | revisa/me | revisar | mira/r | abre | abrir | comprueba | comprobar | consulta/r | echa un vistazo a
  | ver) [mi | mis | el | la | los] [nuevos | ultimos | nuevo] <mail> [nuevos | nuevo | recientes | sin leer]
(muestra/me | mostrar/me | ensena/me | lista/me | listar | dame) [mi | mis | el | la | los | todos los] [ultimos |
  nuevos] <mail> [nuevos | recientes | sin leer]
(tengo | hay | me ha llegado | me han llegado | he recibido) [algun | algunos] [nuevo | nuevos] <mail> [nuevo | nuevos
  | sin leer]
(que hay | que tengo | hay algo) [de nuevo | nuevo] en (mi | la | el) (bandeja de entrada | buzon | correo)
que <mail> (tengo | hay) [nuevos | sin leer]
tengo mensajes nuevos

[search in mail]
(tengo | hay | he recibido | me ha llegado | me han llegado) [algun | algunos] [nuevo | nuevos] (correo/s | email/s)
  [nuevo | nuevos] (de | sobre) <query>
(busca/me/r | encuentra/me | encontrar | localiza/r) en [mi | el | la | los | mis] <mail> <query>
(busca/me/r | encuentra/me | encontrar | localiza/r | muestra/me | ensename | mostrar/me) [el | la | los | mis | un |
  todos los] (correo/s | email/s | mail/s | mensajes) (de | del | sobre | con) <query>
(busca/me/r | encuentra/me | localiza/r) <quoted> en [mi | el | la | los] <mail>
(busca/me/r | encuentra/me) los mensajes de mi correo que (hablen | hablan) de <query>
(hay | tengo | algun) [algun] (correo/s | email/s) (de | sobre) <query>
(haz | hacer) una busqueda en [mi | el] <mail> (de | sobre) <query>
busca/r <mail> <query>
que (correos | emails) (hablan de | son de | hay de | hay sobre | tengo de | tengo sobre) <query>

[list of skills]
[<show>] [todas | todos] [tus | las | mis | la lista de | lista de | una lista de | la lista de tus] [tus | las]
  <skills> [disponibles | instaladas | activas | que tienes | que hay]
[<show>] (que | cuales) <skills> (tienes | hay | estan instaladas | estan disponibles | estan activas)
cuales son tus <skills>
que (puedes | sabes) hacer
tienes (algunas | alguna) <skills>
con que <skills> cuentas

[date and time]
[dime | sabes | me dices | puedes decirme | dame] [que] (hora | dia | fecha | fecha y hora) (es | son | tenemos |
  tienes) [hoy | ahora] [en <place>]
(dime | dame | me dices | me das) [la] (hora | fecha | fecha y hora | hora y fecha) [actual | de hoy | exacta] [en
  <place>]
(a | en) que (dia | fecha | mes | ano) estamos [hoy]
que dia de la semana es [hoy]
cual es la (hora | fecha) [actual | de hoy] [en <place>]
[la] (hora | fecha | fecha y hora | hora y fecha) [actual | de hoy | exacta] [en <place>]

[weather]
(va a llover | va a nevar | llovera | nevara | hara (calor | frio | sol | viento)) <when> en <place>
que (tiempo | temperatura) (hace | hara | hay) <when> en <place>
necesito (paraguas | un paraguas | abrigo) en <place> [<when>]
que tal [esta] el (tiempo | clima) en <place> [<when>]
[dime | sabes | dame] que (tiempo | clima | temperatura) (hace | hay | tenemos | hara) en <place> [<when>]
[dime | dame | muestrame] [como esta] [el] (tiempo | clima) (en | de | para) <place> [<when>]
(va a llover | va a nevar | llovera | nevara | esta lloviendo | esta nevando | llueve | nieva) en <place> [<when>]
[dame | dime | muestrame] [el | la] (pronostico | prevision) [del tiempo | meteorologica] (para | de | en) <place>
  [<when>]
hace [mucho] (calor | frio | sol | viento) en <place> [<when>]
[que | cuanta] temperatura (hace | hay | tiene) en <place> [<when>]

[page]
<page_verb> [la] [pagina | web | pagina web] [de] <url>
que (dice | contiene | pone en) <url>
<url>
(abre | abrir | visita/r | ve a | ir a | entra en | entrar en | navega a | navegar a | carga) [la] [pagina | web]
  <domain>

[search in the web]
(busca/me/r | busque | busques | mira/r | investiga/r | consulta/r | encuentra/me | encontrar) <online> <query>
(busca/me/r | encuentra/me | investiga/r | consulta/r | encontrar) <query> <online>
googlea/r <query>
(haz | hacer) una busqueda [web | en la web | en internet | en google] [de | sobre] <query>
busqueda (web | en la web | en internet) [de | sobre] <query>
(busca/me/r | busque) <query>
(cuanto (cuesta | vale) | cual es el precio de | precio de) <query>
"""
