"""Second labelled set of memory entries and questions, for the choice of a default in docs/memory.md; held out.

How it was made: written by hand for this repository after the search was finished and before any figure of it was
looked at; nothing was changed since. 48 entries and 48 questions, half English, a quarter German, a quarter Spanish.
Of each language a third of the questions shares a word with its answer, a third has it in another form, within a
compound or misspelt, and a third asks in other words. Nothing was taken from elsewhere.
"""

from typing import Final

ENTRIES: Final[dict[str, str]] = {
    # English
    "boiler": "The boiler is serviced each October by Mr. Plummer.",
    "violin": "Nora plays the violin in the town orchestra.",
    "sofa": "The grey sofa in the living room folds out for guests.",
    "mortgage": "The mortgage on the cottage ends in 2031.",
    "asthma": "Leo has asthma and carries an inhaler in his rucksack.",
    "marathon": "Nora trains for the marathon in Rotterdam.",
    "invoice": "Invoices to Brightwell go out on the last working day.",
    "invoicenum": "Invoice numbers begin with the year and a dash.",
    "chess": "Leo goes to chess club on Mondays after school.",
    "teacher": "His maths teacher is Mrs. Okafor.",
    "password": "Passwords are kept in the vault of the team, never in mails.",
    "server": "The staging server is restarted every night at three.",
    "logo": "The new logo must not be stretched or recoloured.",
    "curry": "Leo cannot stand coriander in a curry.",
    "lactose": "Nora drinks oat milk since she is lactose intolerant.",
    "glasses": "Her reading glasses are usually beside the toaster.",
    "tyres": "Winter tyres are stored at Dekker's garage.",
    "ferry": "They take the night ferry to Newcastle every summer.",
    "tent": "The tent leaks at the left seam.",
    "aunt": "Aunt Beatrix turns ninety in February.",
    "budget": "The kitchen may cost nineteen thousand at most.",
    "oven": "The oven door squeaks and runs ten degrees too hot.",
    "contract": "Her contract with Brightwell runs until the end of June.",
    "neighbour": "The people next door complain about drums after eight.",
    # German
    "zahnarzt": "Der Zahnarzttermin von Jonas ist am 3. Mai um halb neun.",
    "heizung": "Die Heizungsanlage wurde 2019 erneuert.",
    "hund": "Der Hund heißt Bruno und bellt, wenn es klingelt.",
    "allergie": "Jonas verträgt keine Haselnüsse.",
    "miete": "Die Nebenkostenabrechnung kommt immer im November.",
    "zug": "Sie fährt dienstags mit dem Zug nach Ulm.",
    "geburtstag": "Omas Geburtstag wird im Gasthof Lamm gefeiert.",
    "fahrrad": "Das Fahrradschloss hat den Code 4711.",
    "schule": "Die Elternabende finden in der Aula statt.",
    "garten": "Im Garten wachsen Zwetschgen und zwei alte Apfelbäume.",
    "arbeit": "Sie arbeitet freitags von zu Hause.",
    "kaffee": "Kaffee trinkt sie nur mit Hafermilch.",
    # Spanish
    "perro": "El perro de Marta se llama Canelo.",
    "alergia": "Marta es alérgica a los mariscos.",
    "vuelo": "Los vuelos a Sevilla los paga la empresa.",
    "boda": "La boda de su hermano será en septiembre en Cádiz.",
    "coche": "El coche está aparcado en la segunda planta.",
    "medico": "El médico le recetó vitamina D en invierno.",
    "clave": "La contraseña de la red está detrás del cuadro.",
    "piano": "Los jueves tiene clase de piano con Irene.",
    "facturas": "Las facturas se envían el último viernes del mes.",
    "vecino": "El vecino del cuarto riega las plantas en agosto.",
    "cena": "Nunca cena después de las nueve.",
    "abuela": "La abuela vive en una residencia en Toledo.",
}

QUESTIONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    # English: a word of the answer
    ("Who services the boiler?", ("boiler",)),
    ("Which orchestra does she play in?", ("violin",)),
    ("When does the mortgage end?", ("mortgage",)),
    ("Where are the winter tyres?", ("tyres",)),
    ("Who is the maths teacher?", ("teacher",)),
    ("When is the staging server restarted?", ("server",)),
    ("How long does her contract run?", ("contract",)),
    ("What is wrong with the tent?", ("tent",)),
    # in another form, or misspelt
    ("Is anybody asthmatic?", ("asthma",)),
    ("invoicing Brightwell", ("invoice",)),
    ("Who is the violinist?", ("violin",)),
    ("marathons she is training for", ("marathon",)),
    ("where do we store a pasword", ("password",)),
    ("logos and recolouring", ("logo",)),
    ("Which ferries do they take?", ("ferry",)),
    ("squeaky oven", ("oven",)),
    # in other words
    ("Where can visitors sleep?", ("sofa",)),
    ("Which board game does the boy play?", ("chess",)),
    ("Which herb does he hate?", ("curry",)),
    ("What does she put into her coffee?", ("lactose",)),
    ("Where did I leave my spectacles?", ("glasses",)),
    ("How much money is there for the renovation?", ("budget",)),
    ("Who has a big birthday soon?", ("aunt",)),
    ("Why should we be quiet in the evening?", ("neighbour",)),
    # German
    ("Wie heißt der Hund?", ("hund",)),
    ("Wann fährt sie nach Ulm?", ("zug",)),
    ("Was wächst im Garten?", ("garten",)),
    ("Wo wird Geburtstag gefeiert?", ("geburtstag",)),
    ("Wann muss Jonas zum Zahnarzt?", ("zahnarzt",)),
    ("Wie alt ist die Heizung?", ("heizung",)),
    ("Code vom Schloss am Fahrrad", ("fahrrad",)),
    ("Wann ist der nächste Elternabend?", ("schule",)),
    ("Worauf reagiert das Kind allergisch?", ("allergie",)),
    ("Wann ist sie nicht im Büro?", ("arbeit",)),
    ("Wann kommt die Rechnung vom Vermieter?", ("miete",)),
    ("Was kommt in ihren Espresso?", ("kaffee",)),
    # Spanish
    ("¿Cómo se llama el perro?", ("perro",)),
    ("¿Cuándo es la boda?", ("boda",)),
    ("¿Quién da la clase de piano?", ("piano",)),
    ("¿Dónde está aparcado el coche?", ("coche",)),
    ("¿A qué tiene alergia Marta?", ("alergia",)),
    ("¿Quién paga el vuelo?", ("vuelo",)),
    ("¿Cuándo se envía una factura?", ("facturas",)),
    ("¿Qué le han recetado los medicos?", ("medico",)),
    ("¿Cuál es el código del wifi?", ("clave",)),
    ("¿Quién cuida las macetas en verano?", ("vecino",)),
    ("¿A qué hora come por la noche?", ("cena",)),
    ("¿Dónde está la madre de su padre?", ("abuela",)),
)

KINDS: Final[dict[str, tuple[int, ...]]] = {
    "same word": (*range(8), *range(24, 28), *range(36, 40)),
    "other form": (*range(8, 16), *range(28, 32), *range(40, 44)),
    "other words": (*range(16, 24), *range(32, 36), *range(44, 48)),
}
"""Positions of the questions by how they differ from their answer."""
