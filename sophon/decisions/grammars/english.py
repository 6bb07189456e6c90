"""English grammar of the decision layer, in the notation of `sophon.decisions.message_grammar`.

Source: WASP, Decision Layer, fast paths.

Rules first, then a section for each family: of phrases for the strategies, of whole messages for the fast paths. The
first phrase of `agent` is the wish to create one.
"""

from typing import Final

GRAMMAR: Final = """
<polite> = please | (can | could | would | will) you [please] | (i want | i need | i would like | i'd like) you to |
  hey
<before> = <polite> | (i want to | i would like to | i'd like to | i need to | let us | let's)
<behind> = [for me] [right] now | [for me] please | for me | today
<lead> = <start> [<polite>] | and | then | also | please
<want> = i want | i need | i would like | i'd like | give me | get me
<a> = a | an | the | my | all | all the | all my | this | these | another | one | some

<weekday> = monday/s | tuesday/s | wednesday/s | thursday/s | friday/s | saturday/s | sunday/s
<period> = second/s | minute/s | min | mins | hour/s | day/s | night/s | morning/s | noon | afternoon/s | evening/s |
  weekday/s | weekend/s | week/s | month/s | quarter | year/s | <weekday>
<often> = hourly | daily | nightly | weekly | monthly
<recurrence> = <repeated> | <often>
<repeated> = (every | each) [other | single | <amount>] <period> | (once | twice | <amount> times) (a | an | per |
  every | each) <period> | on (weekdays | weekends | mondays | tuesdays | wednesdays | thursdays | fridays | saturdays |
  sundays)
<clock> = (at | from | before | after | around) <hour>
<act> = send | give | tell | show | check | run | make | post | fetch | get | read | write | report | do | mail |
  email | e-mail | message | notify | alert | remind | ping | watch | monitor | track | look | update | back | collect
  | print | summari/ze/se | list | compare | count | keep | play | publish | pull | download | scan | test | clean |
  draft | prepare | deliver | scrape | poll | query | search | find | look | review | monitor | sync | log | record |
  create | call | translate
<work> = <act> | gather | research | investigate | analy/se/ze | study | book | build | produce | generate | compile |
  present | save | plan | explain | visit | order | calculate | merge | design | choose | pick | sort | store | deploy
  | upload | evaluate | outline | develop | measure | verify | fill | edit | add
<research> = [do | carry out | conduct] [some | a | more] research | investigate | find out | look into | gather |
  collect | analy/se/ze | study | explore | examine | survey
<deliver> = send | email | e-mail | mail | write | save | summari/ze/se | report | present | publish | post | deliver
  | compare | tell | prepare | produce | make | create | give | draft | propose | recommend
<build> = write | create | make | build | code | program | develop | generate | put together | run | set up |
  implement

<remind> = [remember to | (do not | don't) forget to] remind me | [set [up] | add | create | make | put] [me] [a | an]
  reminder [for me] | (i want | i need | i would like | i'd like | give me) a reminder | ping me | alert me | notify
  me | nudge me | (i want | i would like | i'd like) to be reminded | (can | could) i (get | have) a reminder | (do
  not | don't) let me forget | make sure i remember
<alarm> = wake me [up] | (set | make | put | start | add | create) [up | on | me] [a | an | the | my] [wake up |
  wake-up] (alarm [clock] | call | timer) | i (want | need | would like) to wake up | (i would like | i'd like | i
  need | i want) (a | an) [wake up] alarm | [wake up] alarm
<at> = (at | by | for | around) <time> | <time>
<on_day> = [on | for] [the | next | this] <day>
<purpose> = (to | for | so that) <text>
<what> = [to | that | about | of | for | i have to | i must] <text>
<after> = (in | after | within) <number> <unit> | <number> <unit> from now
<items> = reminders | schedules | scheduled (tasks | jobs | reminders | messages) | task schedules | monitors | alarms
<show> = list | show | show me | give me | tell me [about] | let me know | what are | check | display | view | see |
  get | print
<mail> = mail/s | email/s | e-mail/s | inbox | mailbox
<mails> = [a | an] [new] (mail | email | e-mail)
<skills> = skills | abilities | capabilities
<page_verb> = open | fetch | get | read | load | download | visit | go to | show | show me | check | browse |
  look at | navigate to | browse to | retrieve | pull up
<online> = online | on the (web | internet | net) | in the (web | internet) | on google | with google

[schedule]
<lead> <act> ... <recurrence>
[<clock>] <repeated> [<clock>] [please | you] <act>
<lead> <often> [<clock>] [please | you] <act>
<lead> <want> [a | an | the | my] .. <recurrence>
<lead> [<day>] [<clock>] <remind> (to | that | about | in | at | on | by | when | tomorrow | today | tonight | next |
  <recurrence> | <day>)
<lead> set [up] (a | an) (reminder | alarm | timer)
<lead> (schedule | reschedule) (a | an | the | my | this | it | that)
<start> (reminder | alarm) (for | on | at | in) (<day> | <hour>)

[recurrence]
<recurrence>

[continuous]
<lead> (monitor | watch | track | follow | check on | keep track of | alert me | notify me | let me know (if | when))

[agent]
<lead> [<want>] (create | make | build | start | launch | spawn | deploy | set up | spin up | configure | add) [me |
  us] [<a>] .. (agent/s | sub-agent/s | subagent/s | bot/s | assistant/s)
<lead> <want> [<a>] .. (agent/s | sub-agent/s | subagent/s | bot/s | assistant)
<start> (new [<a>] (agent | bot | sub-agent) | (agent | bot) creation | creation of (a | an) .. (agent | bot))
(<lead> <work> | keep | keeps | that | which) ... (continuously | constantly | permanently | around the clock | 24/7 |
  nonstop | non-stop | in the background)
<lead> (delegate | hand | give) ... to (a | an) .. (agent | sub-agent | subagent | bot)
<lead> keep (an eye on | watching | monitoring | tracking)

[script]
<lead> <build> [me | us] [<a>] .. (script/s | program | crawler | scraper | parser | pipeline)
<lead> <want> [<a>] .. (script | crawler | scraper | parser | pipeline)
<lead> script (the | this | a)
<lead> poll/ing .. (api | endpoint | url)
<lead> (extract | pull out | extraction of | extracting) [<a>] .. (data | table/s | rows | fields | links | columns |
  values | names)
<lead> (scrape | crawl | scraping [of | the] | [do] [some] [web] (scraping | crawling))
<lead> pars/e/ing [of] [<a>] .. (json | xml | csv | html | yaml | log/s)
<lead> convert [<a>] .. (json | xml | csv | html | yaml) .. (to | into)

[chain]
<lead> <work> ... (then | after that | afterwards | finally) <work>
<lead> first ... (then | second | next | after that | finally)
<lead> step by step ... (and | then)
<lead> <work> ... and [then] <work> ... and [then] <work>
<lead> <work> ... <comma> <work> ... and [then] <work>
<lead> (set | create | make | add | start) [me] [<a>] .. goal
<start> [new] goal <colon>
<lead> work on ... in the background

[report]
<lead> (<build> | prepare | draft | compile | produce | deliver | compose) [me | up | us] [<a>] .. (report/s |
  briefing | dossier | presentation | comparison | business plan | market analysis | study | post-mortem | white
  paper)
<lead> <want> [<a>] .. (report | briefing | dossier | presentation | comparison | analysis) (on | about | of | for)
<lead> (report | briefing) (on | about)

[research]
<lead> <research> ... and [then | after that] <deliver>
<lead> <research> ... then <deliver>

[targets]
bitcoin | btc | ethereum | eth | solana | sol | dogecoin | crypto/s/currencies/currency | stock/s | shares | euro |
  dollar | gold | oil | index | nasdaq
price/s | website | web page | webpage | site | server | feed | news | weather | exchange rate | inbox | repository |
  repo | build | ticket/s | status page

[reminder on a day]
<alarm> <on_day> <at> [<purpose>]
<alarm> <at> <on_day> [<purpose>]
<on_day> <at> <alarm>
<remind> <on_day> [,] <at> [<what>]
<remind> <at> <on_day> [<what>]
<remind> <what> <on_day> <at>
<remind> <what> <at> <on_day>
<on_day> <at> <remind> [<what>]
<at> <on_day> <remind> [<what>]

[reminder at a time]
<alarm> <at> [<purpose>]
<at> <alarm>
<remind> (at | by | for | around) <time> [<what>]
<remind> <what> (at | by | around) <time>
(at | by | around) <time> <remind> [<what>]

[reminder after a time]
<alarm> <after> [<purpose>]
<remind> <after> [<what>]
<remind> <what> <after>
<after> <remind> <what>

[list of schedules]
[<show>] [all] [of] [my | the | your | all | a list of | a list of my | the list of | a list of all] [active | current
  | pending | upcoming] <items> [that are active | i have | there are]
(what | which) <items> (do i have [set | pending | scheduled] [right now] | are upcoming | are coming up | are set |
  are there | are active | are scheduled | have i set | exist)
(what | which) (are | is) [all] (my | the) [active | current | upcoming] <items>
what (do i have | have i | is | tasks are | jobs are | have i got) (scheduled | planned by schedule)
(do i have | are there | have i got) [any] [active | pending] (<items> | an alarm) [set | pending | scheduled | on my
  list]
any [active | pending] <items>

[removal of a schedule]
(delete | remove | cancel | stop | drop | get rid of | erase | clear | end) [the | my | a] (reminder | schedule |
  scheduled task | scheduled job | task schedule | monitor | alarm) [number | no | called | named | about | with the
  id] (<title> | <id>)
(delete | remove | cancel | stop | drop | get rid of) [the | my] (reminder | schedule | scheduled task | alarm)
  (called | named | about | to | for) <titled>
unschedule [the | my] [reminder | task | job] (<title> | <id>)

[mail to send]
(tell <address> | let <address> know) that <body>
(send | write | compose | draft | shoot | drop | fire off) <mails> to <address> [and] (saying | that says | to say |
  with the text | with the message | telling them | telling her | telling him | that | with) [that] <body>
(send | write | compose | draft | shoot | drop) <mails> to <address> <colon> <body>
(send | write | shoot | drop) <address> <mails> (saying | that says | to say | with the text | that) [that] <body>
(send | write) [a] message by (mail | email | e-mail) to <address> <colon> <body>
(email | mail | e-mail) [to] <address> (that | saying | to say | telling them | and say) [that] <body>
(email | mail | e-mail) [to] <address> <colon> <body>
(send | write | compose | draft) <mails> to <address> [with] [the] subject <subject> [and] [the] (body | text |
  message) <body>

[inbox]
(check | read | open | look at | look in | look into | see | go through | view) [my | the] [new | latest | recent |
  unread] <mail>
(show | show me | list | list me | give me | read me) [all] [my | the] [new | latest | recent | unread | last] (<mail>
  | messages in (my | the) (inbox | mailbox))
show [me] [my | the] unread messages in (my | the) (inbox | mailbox)
(do i have | did i get | have i got | is there | are there | have i received | did i receive) [any | some] [new |
  unread] <mail> [today]
any [new | unread] <mail> [today]
(are there | do i have | tell me if (there are | i have) | let me know if (there are | i have) | report | show) [any]
  [new | unread] <mail> [in my (inbox | mailbox)]
what new messages do i have
bring up my <mail>
check for [new | unread] <mail>
(what | which) [new | unread] <mail> (do i have | did i get | came in)
(what is | what's) (in | new in) (my | the) (inbox | mailbox | mail | email)

[search in mail]
(check | check for | any | do i have | did i (get | receive) | have i (got | received) | are there | show | show me |
  let me know | bring up | (let me know | tell me | see | check) if (i have | i got | i have received | there are |
  there is)) [all | any | the | my] [new | unread | recent | latest] (mail/s | email/s | e-mail/s) [today] (from |
  about | in regard to | having to do with) <query>
(search | look | find | do a search | make a search) [in | through | for] [my | the] <mail> (for | from | about |
  mentioning) <query>
(find | look for | show | show me | search for | list | get | get me) [me] [all] [the | any | my] (mail/s | email/s |
  e-mail/s) (from | about | for | with | mentioning) <query>
(find | show me | search for | look for) [the] messages in (my | the) (inbox | mailbox | mail) (that mention | about |
  from | with) <query>
(is there | are there | do i have | did i get) [a | an | any] (mail/s | email/s | e-mail/s) (from | about) <query>
any (mail/s | email/s | e-mail/s) (from | about) <query>
search [my | the] <mail> <query>
(what | which) (mail/s | email/s | e-mail/s) (mention | are about | are from | came from) <query>

[list of skills]
[<show>] [all] [of] [your | the | my | a list of your | the list of | the list of your | a list of | a list of all]
  [available | installed | enabled] <skills> [that are enabled | you have | there are]
(what | which) <skills> (do you have | are there | are installed | are available | are enabled | have you got | can
  you use)
[<show>] (what | which) <skills> (you have | there are | are available)
(what | which) are [all] your [available] <skills>
what can you do
<skills> list
(do you have | are there) [any] <skills>

[date and time]
(tell me | let me know | just let me know | can i have | could i have | give me) [the | today's] [current] (time |
  date | hour | date and time | time and date) [today] [it is]
(what is | what's | whats) the (day | date and time) [for] today
today date | today's date
[tell me | show me | give me | say] [what is | what's] [the | today's | the current | the exact | current | exact]
  (time | date | date and time | time and date) [is it] [now | today | right now] [in <place>] [now | right now]
[do you know | tell me | can you tell me] (what time | what day | which day | what date) (it is | is it | is today |
  today is) [now | today | right now] [in <place>]
what (month | year) is it | what is today | what's today | what day of the week is it | do you have the time | got the
  time
(what is | what's) the (date | day) today

[weather]
(will it | is it going to | is it) (rain | snow | raining | snowing | be sunny | sunny | windy | cold | hot | warm)
  <when> in <place>
(what is | what's | how is | how's | what will be | what will) [the] (weather | temperature | forecast) [be] [like]
  <when> (in | for | at) <place>
(should | shall | must) i (take | bring | wear) (an umbrella | a coat | a jacket) in <place> [<when>]
(rain | snow) in <place> [<when>]
[tell me | give me | show me | show | check] [what is | what's | how is | how's] [the | today's | tomorrow's | current
  | the current] weather [like | forecast | report] (in | for | at) <place> [<when>]
(what | how) will [the] weather be [like] (in | at) <place> [<when>]
(will it | is it going to | does it | is it) (rain | snow | raining | snowing | be sunny | sunny | windy | cold | hot
  | warm) (in | at) <place> [<when>]
(what is | what's | give me | tell me | show me) [the] (temperature | forecast | weather forecast) (in | for | at)
  <place> [<when>]
how (hot | cold | warm | windy) is it (in | at) <place> [<when>]
do i need (an umbrella | a coat | a jacket) in <place> [<when>]
(forecast | temperature) (in | for) <place> [<when>]
<town> weather [forecast]

[page]
(<page_verb> | take me to | have a look at) [me] [the | this] [page | site | website | web page | article | link |
  url] [at] <url>
(what does | what is at | what's at | what is on | what's on) <url> [say | contain]
<url>
(open | visit | go to | browse | browse to | navigate to | fetch | load) [the] [page | site | website] <domain>

[search in the web]
(do | run | make) a (web | online | google | internet) search (for | on | about) <query>
(web search | search the web | search the internet | search the net | search online | search google | look online |
  look on the web | look on the internet | search on the web | search on the internet | search on google) [for]
  <query>
(search for | google | google for) <query> [<online>]
(look up | search | find out | find | look for | find me) <query> <online>
look up <query>
look <query> up
(what is | what's) the [current | latest] price of <query>
(price of | how much is) <query>
"""
