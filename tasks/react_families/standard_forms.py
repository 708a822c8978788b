"""Standard tier: forms that compute, confirm, count and preview."""

# ruff: noqa: E501  (tables of facts)

import operator

from tasks.react_families.kit import Family, Fields, button, click, heading, role, template, text, typed

OPERATIONS = {"*": operator.mul, "+": operator.add, "-": operator.sub, "/": operator.floordiv}


def _results(f: Fields) -> dict[str, str]:
    """What the calculator shows at first, after the first field changed, and after the second did too."""
    compute = OPERATIONS[f["op"]]
    a, b, new_a, new_b = (int(f[key]) for key in ("a", "b", "new_a", "new_b"))
    shown = {"before": compute(a, b), "middle": compute(new_a, b), "after": compute(new_a, new_b)}
    return {when: str(number) for when, number in shown.items()}


CALCULATOR = Family(
    "calculator",
    "why title one a op two b result new_a new_b how",
    """
We rent out kayaks. | Kayak rental | Kayaks | 3 | * | Hours | 4 | Price | 5 | 7 | kayaks times hours, in euros
I split restaurant bills with friends all the time. | Split the bill | Bill | 120 | / | People | 4 | Each pays | 168 | 6 | the bill divided by the people
For a painter's website. | Paint needed | Wall width | 12 | * | Wall height | 3 | Square metres | 14 | 4 | width times height
My savings are slow and I want to see it. | Savings at year end | Saved so far | 340 | + | Still to come | 125 | In total | 410 | 215 | the two added up
I bake for weddings. | Cake portions | Tables | 9 | * | Guests per table | 8 | Portions | 11 | 6 | tables times guests
A page for a used book shop. | Trade in books | Books | 15 | * | Points per book | 6 | Points | 18 | 9 | one multiplied by the other
Marathon planning made simple. | Training weeks | Kilometres left | 480 | / | Kilometres a week | 40 | Weeks | 600 | 50 | the kilometres left divided by those per week
Our school trip has a budget. | Trip budget | Budget | 900 | - | Bus | 260 | Left over | 950 | 310 | what is left of the budget after the bus
I sell candles at markets. | Candle stall | Candles sold | 22 | * | Price each | 7 | Earned | 25 | 9 | candles times price
Teachers should see how long marking takes. | Marking time | Essays | 28 | * | Minutes per essay | 12 | Minutes | 30 | 15 | essays times minutes
Calories, but friendly. | Room for dessert | Daily goal | 800 | - | Eaten already | 550 | Calories left | 850 | 430 | the goal minus what was eaten
We hire vans by the day. | Van hire | Days | 3 | * | Price per day | 65 | To pay | 4 | 80 | days times the daily price
For volunteers who pack food boxes. | Boxes per team | Boxes | 240 | / | Teams | 8 | For each team | 320 | 10 | boxes divided by teams
I count stitches when I knit. | Stitch counter | Rows | 18 | * | Stitches per row | 24 | Stitches | 20 | 32 | rows times stitches per row
A small widget for a language school. | Course hours | Lessons | 16 | * | Minutes per lesson | 45 | Minutes in class | 18 | 50 | lessons times minutes
""",
    (
        '{why} Make a small calculator with the heading "{title}" and two number inputs, "{one}" (starts at {a}) and '
        '"{two}" (starts at {b}). It shows "{result}: {before}" and updates as I type; the result is {how}.',
        'calculator widget in react. heading "{title}", number input "{one}" default {a}, number input "{two}" default '
        '{b}. Under it "{result}: {before}", i.e. {how}, recalculated live.',
        '{why} I need a page with the heading "{title}". Two labelled number fields: "{one}" with {a} filled in and '
        '"{two}" with {b} filled in. Below, in big type, "{result}: {before}" ({how}). No button, just recalculate on '
        "every change.",
    ),
    lambda f: [
        heading(f["title"]),
        role("spinbutton", f["one"]),
        role("spinbutton", f["two"]),
        text(f"{f['result']}: {f['before']}"),
        typed(f["one"], f["new_a"], on="spinbutton", text=f"{f['result']}: {f['middle']}"),
        typed(f["two"], f["new_b"], on="spinbutton", text=f"{f['result']}: {f['after']}"),
    ],
    (template("calculator"),),
    _results,
)

BOOKING = Family(
    "booking-form",
    "why title field choice options* send answer name",
    """
We are a tiny pottery studio. | Book a class | Your name | Class | Wheel; Hand building; Glazing | Book my place | You are booked in | Ada
I cut hair at home. | Hair appointment | First name | Treatment | Cut; Colour; Beard trim | Request appointment | I will call you | Bilal
For the reception of a vet. | Check in your pet | Name of the pet | Animal | Dog; Cat; Rabbit; Parrot | Check in | Please take a seat | Mango
A signup for our sports day. | Sports day | Pupil | Event | Sprint; Long jump; Relay | Sign me up | See you on the track | Chloe
Our food truck takes pre-orders. | Pre-order lunch | Name for the order | Dish | Dal; Pierogi; Banh mi | Order | Your food is in the pan | Dario
For a garage. | Book a service | Licence plate | Service | Oil change; Tyres; Inspection | Send request | We have your request | HB-207
Campers write to us by hand still. | Reserve a pitch | Family name | Pitch | By the lake; In the woods; Near the showers | Reserve | Your pitch is reserved | Eriksen
An escape room needs a form. | Enter the escape room | Team | Room | Submarine; Attic; Bank vault | Lock us in | Good luck | Foxes
I offer tandem flights. | Fly with me | Passenger | Flight | Sunrise; Noon; Sunset | Book flight | Cleared for take-off | Greta
Museum tours for groups. | Group tours | Group name | Language | English; Spanish; Japanese | Ask for a tour | Thank you, we reply within a day | Rotary
The library lends instruments. | Borrow an instrument | Borrower | Instrument | Cello; Trumpet; Accordion | Borrow it | Ready at the desk | Hamid
A flower shop, same-day delivery. | Send flowers | Deliver to | Bouquet | Wild meadow; White roses; Tulips | Send the flowers | On the way to your person | Isolde
Tax advice by phone. | Call me back | Client | Topic | Income tax; Inheritance; Moving abroad | Call me | We ring you today | Joon
A dance school that is always full. | Waiting list | Dancer | Course | Salsa; Tap; Ballet | Join the list | You are on the list | Katya
Repairs for phones and tablets. | Repair ticket | Owner | Device | Phone; Tablet; Laptop | Open ticket | Ticket opened | Leroy
""",
    (
        '{why} Please make a form headed "{title}" with a text input "{field}", a dropdown "{choice}" with the options '
        '{options}, and a "{send}" button. After sending, say "{answer}" and repeat the {low} that was entered.',
        'Form component: heading "{title}"; text input labelled "{field}"; select labelled "{choice}" ({options}); '
        'button "{send}". On submit show a confirmation with "{answer}" and the text entered in "{field}".',
        '{why} The form needs the heading "{title}". Fields: "{field}" as a plain text input, "{choice}" as a select '
        'with {options} (the first one preselected). Pressing "{send}" shows a friendly message that contains '
        '"{answer}" as well as what was typed into "{field}". Nothing is sent anywhere.',
        'can you do me a booking form? title "{title}" in a heading, "{field}" text field, "{choice}" drop-down '
        '({options}) and a "{send}" button. when it is submitted, the page says "{answer}"',
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["field"]),
        role("combobox", f["choice"]),
        button(f["send"]),
        typed(f["field"], f["name"], then=f["send"], text=f["answer"]),
    ],
    (template("booking-form"),),
    lambda f: {"low": f["field"][0].lower() + f["field"][1:]},
)

COUNTED = Family(
    "counted-text",
    "why title label limit clear sample",
    """
We send texts to our customers, so length matters. | Text message | Message | 160 | Clear | Your parcel is here
A bio has to be short. | Write your bio | Bio | 80 | Start over | Potter and night owl
I write haiku captions for prints. | Print caption | Caption | 60 | Empty it | Old pond in the rain
For a petition page. | Why do you sign? | Your reason | 200 | Delete reason | Because of the trees
Headlines in our school paper must fit. | Headline check | Headline | 50 | New headline | Canteen goes green
It is for the label on jam jars. | Jam label | Label text | 30 | Wipe | Plum and ginger
Engraving costs by the letter. | Engrave a ring | Engraving | 25 | Remove engraving | Always yours
Our radio hosts read out short greetings. | Radio greeting | Greeting | 120 | Scrap it | Hello to Aunt Vera
A one-line status for the team page. | Team status | Status line | 40 | Reset status | Out for lunch
Alt texts should stay brief. | Alt text helper | Alt text | 125 | Clear alt text | A fox on a red bench
Postcards printed on demand. | Postcard | What you want to say | 240 | Tear it up | The sea is warm
App store subtitles have a hard limit. | App subtitle | Subtitle | 45 | Try again | Plan meals in peace
Dating profiles for dogs, do not ask. | Dog profile | About the dog | 90 | Bad dog | Likes sticks and naps
Push notifications get cut off. | Push preview | Push text | 65 | Discard | Your train is on time
Students answer in one sentence. | One-sentence answer | Answer | 110 | Erase | Because ice floats
""",
    (
        '{why} I want a text area labelled "{label}" under the heading "{title}" with a counter "0 / {limit}" that '
        'follows what I type, and a button "{clear}" that empties it.',
        'Textarea with character counter. Heading "{title}", label "{label}", limit {limit}, counter in the form '
        '"0 / {limit}", turning red near the end. Button "{clear}" resets the field.',
        '{why} Give me the heading "{title}", a textarea with the label "{label}", and below it, right aligned, how '
        'many characters are used, written like "0 / {limit}". A "{clear}" button sets it back to nothing.',
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["label"]),
        text(f"0 / {f['limit']}"),
        button(f["clear"]),
        typed(f["label"], f["sample"], text=f"{len(f['sample'])} / {f['limit']}"),
        click(f["clear"], no_text=f"{len(f['sample'])} / {f['limit']}"),
    ],
    (template("counted-text"),),
)

PREVIEW = Family(
    "live-preview",
    "why title one start_one two start_two new_one new_two",
    """
I print business cards. | Card designer | Name | Ruth Adler | Job title | Locksmith | Paul Adler | Key maker
For a tombola: people type, we print. | Ticket maker | Prize | Basket of figs | Number | 0042 | Bottle of cider | 0077
Name badges for a conference. | Badge printer | Speaker | Dr. Amadi | Talk | Soil and stars | Prof. Lind | Moss at night
A tool for my escape room signs. | Door sign | First line | Do not enter | Second line | Lab of Doctor Plum | Come closer | Office of the owl
Event posters for the village hall. | Poster | Event | Barn dance | When | Saturday at eight | Pie contest | Sunday at two
We give every new dog a certificate. | Puppy diploma | Dog | Biscuit | Achievement | Sits on command | Waffle | Gives the paw
Preview for a shop sticker. | Price sticker | Article | Goat cheese | Price | 4.80 | Fig mustard | 3.10
My students make a book cover. | Book cover | Book title | The Paper Boat | Author | Lin Zhao | The Glass Kite | Max Ito
Email signatures without the fuss. | Signature | Full name | Olga Petrova | Company | Petrova Maps | Olga Orlova | Orlova Globes
A greeting card for my mum. | Card for mum | Headline | Happy birthday | Wish | May the cake be huge | Good morning | Sleep as long as you like
Team jersey configurator. | Jersey | Player | Okafor | Team | River Plate B | Svensson | Northern Stars
For a brewery that changes labels weekly. | Beer label | Beer | Foggy Dock | Style | Oat stout | Loud Heron | Pale ale
Museum labels, quick and dirty. | Object label | Object | Bone flute | Origin | Danube valley | Amber bead | Baltic coast
I organise quiz nights and need slides. | Slide preview | Question text | Who wrote it? | Hint | She lived in Bath | What is it? | It floats
Allergy cards for travellers. | Allergy card | I cannot eat | Peanuts | Language note | Please ask the chef | Shellfish | Even a little is dangerous
""",
    (
        '{why} Build an editor with live preview. Heading "{title}", two text inputs "{one}" and "{two}" already filled '
        'with "{start_one}" and "{start_two}". Next to them a card shows the line "{start_one}: {start_two}" and changes as I type.',
        'live preview component; heading "{title}"; text fields "{one}" (default "{start_one}") and "{two}" (default '
        '"{start_two}"); a preview card beside the form that always shows the current texts in one line, '
        'as in "{start_one}: {start_two}"',
        '{why} On the left a form with labelled text inputs, "{one}" and "{two}". On the right a pretty card which '
        'shows both with a colon between them, at first "{start_one}: {start_two}". Page heading: "{title}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["one"]),
        role("textbox", f["two"]),
        text(f"{f['start_one']}: {f['start_two']}"),
        typed(f["one"], f["new_one"], text=f"{f['new_one']}: {f['start_two']}"),
        typed(f["two"], f["new_two"], text=f"{f['new_one']}: {f['new_two']}"),
    ],
    (template("live-preview"),),
)

EDIT_PROFILE = Family(
    "edit-profile",
    "why title name detail edit field save new",
    """
Our intranet has ugly profile pages. | My profile | Helga Brandt | Joined in 2016 | Edit profile | Display name | Save | Helga Braun
A page for foster parents. | Family page | The Ortegas | Two dogs, one garden | Change | Family name shown | Keep | The Ortega-Lees
For authors on my publishing site. | Author page | J. R. Mole | Writes about tunnels | Edit page | Pen name | Save page | Jo Mole
A ship register, one ship per page. | Ship record | Morning Star | Built in 1931 | Amend record | Ship name | Store | Evening Star
I keep a catalogue of my bonsai trees. | Bonsai no. 8 | Little Storm | Juniper, 40 years | Rename | Name of the tree | Save name | Big Storm
Players can rename their team. | Team settings | Soggy Socks | Played 12, won 3 | Edit team | Team name | Save team | Dry Socks
For a shared family calendar. | Account | Mum and Dad | Owner of this calendar | Edit account | Account name | Save changes | Grandparents
Doctors correct patient records with it. | Patient file | Noor Aziz | Born 4 May 1988 | Amend | Patient name | Save correction | Noor Azizi
Room names change every term at our school. | Room 204 | The Greenhouse | Seats 28 | Edit room | Room name | Save room | The Lighthouse
It is for a band page. | Band page | Velvet Tractor | Folk punk from Leipzig | Edit band | Band name | Save band | Rusty Tractor
Internal tool for our call centre. | Caller | Anton Gruber | Customer since March | Rename caller | Caller name | Save update | Antonia Gruber
Robots in our warehouse have names. | Robot 17 | Clunky | Battery 84% | Give a new name | Robot name | Save it | Smoothie
A profile for tenants. | Tenant | Flat 6, Mrs. Kahn | Lease until June | Edit tenant | Tenant name | Save tenant | Flat 6, Ms. Kahn
Bakers rename their sourdough starters. | My starter | Doughlene | Fed yesterday | Edit starter | Starter name | Save starter | Breadley
Our club keeps cards of members. | Member card | Sir Reginald | Likes long walks | Edit card | Member name | Save card | Lady Regina
""",
    (
        '{why} I would like a card labelled "{title}" with the heading "{name}" and the line "{detail}". The button '
        '"{edit}" turns the heading into a text input labelled "{field}", and "{save}" makes what I typed the new heading.',
        'Inline editing: small label "{title}", heading "{name}", text "{detail}", button "{edit}". In edit mode there is a text input '
        '"{field}" with the current name and a button "{save}" that stores it as the heading and leaves edit mode.',
        '{why} View mode: "{title}" in small letters, then "{name}" as a heading, then "{detail}" in grey, then a button "{edit}". '
        'Edit mode: a text input with the label "{field}" and a "{save}" button. Keep everything in component state.',
    ),
    lambda f: [
        text(f["title"]),
        heading(f["name"]),
        text(f["detail"]),
        button(f["edit"]),
        click(f["edit"], role="textbox", name=f["field"]),
        typed(f["field"], f["new"], then=f["save"], role="heading", name=f["new"]),
    ],
    (template("edit-profile"),),
)

CONFIGURATOR = Family(
    "configurator",
    "why title choice options** extra extra_price",
    """
We sell coffee beans online. | Your coffee | Bag size | Small / 6; Medium / 11; Large / 20 | Gift wrapping | 3
A frame shop wants prices at a glance. | Frame your print | Frame size | A4 / 24; A3 / 38; A2 / 55 | Anti-glare glass | 12
For my pizzeria. | Build a pizza | Diameter | 26 cm / 9; 32 cm / 12; 40 cm / 16 | Extra cheese | 2
Ski hire. | Hire skis | How long | One day / 30; Three days / 75; A week / 140 | Helmet | 10
A cattery, that is a hotel for cats. | Cat holiday | Stay | Weekend / 40; Five nights / 90; Two weeks / 210 | Daily brushing | 25
Our printing service needs an estimator. | Print flyers | Quantity | 100 pieces / 19; 500 pieces / 45; 2000 pieces / 110 | Express | 15
T-shirts of a punk band. | Band shirt | Fit | Kids / 15; Regular / 22; Oversized / 27 | Signed by the drummer | 8
Bike shop, tune-ups. | Bike service | Package | Basic / 35; Full / 70; Race / 120 | Pick-up at home | 20
I run a campsite by the sea. | Two nights at sea | Pitch | Tent / 28; Caravan / 44; Cabin / 96 | Breakfast basket | 14
For online piano lessons. | Piano lessons | Bundle | Single / 25; Five lessons / 115; Ten lessons / 210 | Sheet music | 18
A florist asked me for this. | Bouquet | Bouquet size | Posy / 12; Classic / 26; Lavish / 49 | Glass vase | 9
Storage rooms for rent. | Storage room | Room size | 2 square metres / 31; 5 square metres / 62; 9 square metres / 98 | Insurance | 7
Cinema snacks, ordered from the seat. | Popcorn | Bucket | Little / 4; Normal / 6; Monster / 9 | Caramel | 1
Our laser tag arena. | Laser tag | Group | Four players / 48; Eight players / 88; Twelve players / 126 | Party room | 30
House cleaning, friendly team. | Clean my home | Home | Studio / 39; Two rooms / 59; House / 99 | Windows too | 22
""",
    (
        '{why} Make a price configurator. Heading "{title}", a dropdown "{choice}" with {options}, prices in euros, and '
        'a checkbox "{extra}" for {extra_price} euros more. It shows "Price: €{low}" to begin with.',
        'price calculator. heading "{title}". select labelled "{choice}": {options}. checkbox "{extra}" adds '
        '{extra_price}. show the sum as "Price: €{low}" (that is the first option without the extra) and update it.',
        '{why} Customers choose one thing from a select called "{choice}" ({options} euros) and may tick "{extra}" '
        '(+{extra_price}). Please put "{title}" on top as a heading and the sum at the bottom like this: '
        '"Price: €{low}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("combobox", f["choice"]),
        role("checkbox", f["extra"]),
        text(f"Price: €{f['low']}"),
        typed(f["choice"], f["options"][1][0], on="combobox", text=f"Price: €{f['options'][1][1]}"),
        click(f["extra"], on="checkbox", text=f"Price: €{int(f['options'][1][1]) + int(f['extra_price'])}"),
    ],
    (template("configurator"),),
    lambda f: {"low": f["options"][0][1]},
)

SLIDER = Family(
    "slider",
    "why title label low high start unit reset new",
    """
A lamp control for our smart bulbs. | Living room lamp | Brightness | 0 | 100 | 40 | % | Back to normal | 75
I am building a synth in the browser. | Synth | Cutoff | 20 | 900 | 440 | Hz | Default | 660
Fridge settings, for seniors. | Fridge | Temperature | 1 | 9 | 5 | °C | Factory setting | 3
Donation page. | Give a little | Your gift | 5 | 200 | 25 | euros | Start again | 60
For an audiobook player. | Playback | Speed | 50 | 300 | 100 | % | Normal speed | 150
Room heater with a timer. | Heater | Switch off after | 10 | 120 | 30 | minutes | Reset timer | 90
I want readers to pick their font size. | Reading view | Font size | 10 | 40 | 16 | px | Original size | 24
A dosing pump for my aquarium. | Aquarium | Dose | 0 | 50 | 10 | ml | Safe dose | 35
Search radius for a flat finder. | Flat finder | Radius | 1 | 30 | 8 | km | Default radius | 21
Espresso machine dashboard. | Espresso | Pressure | 1 | 12 | 9 | bar | Barista setting | 6
How long should the sprint be? | Sprint length | Length | 3 | 30 | 14 | days | Usual length | 10
Spice level for our curry shop. | Spice it | Heat | 0 | 10 | 2 | chillies | Mild please | 8
Zoom control for a map. | Map | Zoom | 1 | 20 | 12 | x | Whole city | 17
We lease drones and cap the altitude. | Drone limits | Altitude | 10 | 120 | 50 | m | Legal default | 95
A sleep app with rain sounds. | Rain | Volume | 0 | 100 | 30 | % | Whisper | 55
""",
    (
        '{why} Build a control panel headed "{title}" with a slider labelled "{label}" from {low} to {high}. It starts '
        'at {start} and the page shows "{start} {unit}"; the button "{reset}" goes back to that.',
        'Range slider component. Heading: "{title}". Label: "{label}". min {low}, max {high}, initial {start}. Current '
        'value displayed like "{start} {unit}". Button "{reset}" restores {start}.',
        '{why} One slider ("{label}", {low} to {high}), the value in large digits, e.g. "{start} {unit}" at the start, '
        'and a "{reset}" button. Put "{title}" in a heading above.',
    ),
    lambda f: [
        heading(f["title"]),
        role("slider", f["label"]),
        text(f"{f['start']} {f['unit']}"),
        button(f["reset"]),
        typed(f["label"], f["new"], on="slider", text=f"{f['new']} {f['unit']}"),
        click(f["reset"], text=f"{f['start']} {f['unit']}"),
    ],
    (template("slider"),),
)

FAMILIES = (CALCULATOR, BOOKING, COUNTED, PREVIEW, EDIT_PROFILE, CONFIGURATOR, SLIDER)
