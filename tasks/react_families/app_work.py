"""App tier: boards, money, stock, invoices, admin pages, contacts and messages."""

# ruff: noqa: E501  (tables of facts)

from tasks.react_families.kit import Family, button, click, heading, role, template, text, texts, typed

KANBAN = Family(
    "kanban",
    "why title columns* cards* label add move new",
    """
We are four people building a podcast app and lose track of who does what. | Podcast app board | Ideas; In progress; Shipped | Sleep timer; Chapter marks; Share clips | New idea | Add card | Move on | Car mode
I coordinate a theatre production with two left hands. | Hamlet, autumn | Open; Rehearsing; Stage ready | Ghost scene; Sword fight; Gravediggers | New scene | Put on board | Push right | Final duel
Our furniture workshop works on many orders at once. | Workshop orders | Waiting; On the bench; Delivered | Oak shelf; Walnut table; Pine bed | Order | Take order | Next stage | Cherry stool
A board for the editorial team of a local paper. | Stories this week | Pitch; Draft; Printed | Bridge closed; School choir; Flood risk | Headline | Pitch it | Promote | Mayor resigns
I plan my PhD with cards and want them on screen. | PhD cards | Someday; This month; Done | Read Okun; Fix model; Write methods | Card text | Stick it | Shift | Plot errors
For a hardware start-up, simple please. | Hardware tasks | Backlog; Doing; Tested | Order antennas; Solder samples; Burn-in test | Task | Queue task | Forward | Label boxes
My wedding planning agency has about a dozen weddings at a time. | Weddings | Enquiry; Planning; Celebrated | Lea and Tim; Noa and Gil; Ada and Bo | Couple | New couple | Move along | Zoe and Max
We repair phones. | Repair board | Received; On the desk; Picked up | Cracked screen; Dead battery; Water damage | Device | Check in | Next | Loose button
Garden designers, three of us. | Gardens | Sketch; Digging; Flowering | Villa Rosa; Roof 21; School yard | Garden | Add garden | Advance | Castle moat
An animal hospital with a whiteboard that is always full. | Patients | Arrived; Treated; Going home | Bella the beagle; Kiwi the parrot; Tom the cat | Patient | Admit | Step up | Rex the turtle
Our game jam starts on Friday night. | Jam board | Wish; Making; In the game | Double jump; Talking crow; Boss music | Wish for | Wish | Work on it | Secret ending
For job hunting, so I do not forget whom I wrote to. | Job hunt | Found; Applied; Interview | Baker at Krust; Driver at Haul; Cook at Nido | Job | Save job | Progress | Clerk at Mint
I translate books and have three on the table. | Translations | Queue; Translating; Proofread | The Ice Fair; Lullaby Street; Nine Bridges | Book | Accept book | One further | Salt and Tin
Community kitchen, we cook for two hundred. | Kitchen flow | To prep; Cooking; Served | Peel potatoes; Chop leeks; Boil rice | Kitchen job | Hang up | Slide over | Grate cheese
Release management for a small team. | Release 7.2 | Planned; In review; Merged | New parser; Faster login; Dark icons | Pull request | File | Move right | Docs fix
""",
    (
        '{why} Please build a kanban board with the heading "{title}" and three columns {columns}. Each column has a '
        'heading with its number of cards, like "{first} (3)". The first one starts with {cards}, the others are '
        'empty. Every card has a button "{move}" that puts it into the next column. A text field "{label}" and a '
        'button "{add}" add a card to the first column.',
        'Kanban in a single React file.\n- page heading "{title}"\n- columns {columns}, their headings show the count, '
        'e.g. "{second} (0)"\n- cards at the start, all in the first column: {cards}\n- a "{move}" button on every '
        'card, moves it one column to the right\n- text input labelled "{label}" and button "{add}" for new cards in '
        "the first column\n- no drag and drop needed",
        '{why} What I need: the board is called "{title}" (heading). There are the columns {columns}, and behind the '
        'name of each column, in its heading, stands how many cards are in it, in brackets: "{first} (3)" at the '
        'beginning, because {cards} are there. Cards travel to the right with their "{move}" button. New ones come in '
        'through a text field labelled "{label}" and the button "{add}", always into "{first}".',
    ),
    lambda f: [
        heading(f["title"]),
        heading(f"{f['columns'][0]} (3)"),
        heading(f"{f['columns'][1]} (0)"),
        heading(f["columns"][2]),
        role("textbox", f["label"]),
        role("button", f["move"], min=3),
        click(f["move"], role="heading", name=f"{f['columns'][1]} (1)"),
        typed(f["label"], f["new"], then=f["add"], role="heading", name=f"{f['columns'][0]} (3)"),
    ],
    (template("kanban"),),
    lambda f: dict(zip(("first", "second", "third"), f["columns"], strict=True)),
)

EXPENSES = Family(
    "expenses",
    "why title entries** what amount add remove new",
    """
My partner and I share a household and fight about money. | Shared expenses | Rent / 820; Groceries / 146; Internet / 35 | What for | How much | Add expense | Remove | Cinema
Road trip with five friends, I keep the books. | Road trip purse | Fuel / 94; Campsite / 60; Ferry / 48 | Item | Euros | Put in | Strike out | Ice cream
I am a freelancer and need to see costs. | Costs in April | Software / 59; Train / 77; Desk rent / 210 | Cost | Sum | Book it | Undo | New lamp
Treasurer of a scout group here. | Camp money | Tents / 340; Food / 415; Badges / 66 | Purpose | Paid | Record | Take off | Rope
We renovate an old kitchen. | Kitchen budget | Tiles / 530; Sink / 189; Paint / 44 | Material | Price | Spend | Return | Handles
For teenagers who learn to handle pocket money. | Pocket money | Snacks / 12; Bus / 18; Game / 29 | I bought | It cost | Write down | Cross out | Stickers
A baker wants to track ingredients he buys. | Ingredients bought | Flour / 210; Butter / 340; Yeast / 25 | Ingredient | Bill | Enter bill | Drop | Sesame
My horse costs a fortune and I want proof. | Horse costs | Stable / 390; Hay / 120; Vet / 260 | Thing | Amount | Log cost | Forget | Saddle
Our film has no budget, but we count anyway. | Short film budget | Lenses / 180; Pizza / 95; Van / 140 | Expense | Value | Approve | Reject | Fog machine
The parents' council buys things for the school. | School fund | Books / 275; Balls / 88; Cake stand / 31 | Purchase | Cost | Add purchase | Delete purchase | Globe
Wedding costs, without the tears. | Wedding costs | Venue / 900; Flowers / 240; Band / 650 | Wedding item | Euro amount | Plan it | Skip it | Candles
I run a food stall. | Stall expenses | Rice / 64; Oil / 39; Stall fee / 85 | Bought | For | Save | Discard | Napkins
An allotment club shares the bills. | Allotment bills | Water / 132; Compost / 70; Lock / 19 | Bill for | Bill amount | Add bill | Pay back | Hose
For a student flat with very little money. | Flat kitty | Soap / 6; Pasta / 14; Light bulbs / 9 | Bought for the flat | Spent | Throw in | Refund | Coffee
Our hackerspace wants transparent spending. | Hackerspace ledger | Laser tube / 310; Solder / 27; Club mate / 108 | Entry | Debit | Post entry | Void | Filament
""",
    (
        '{why} Make an expense tracker with the heading "{title}". It starts with {entries} (amounts in euros) and shows '
        '"Total: €{total}". A text field "{what}", a number field "{amount}" that is preset to 10, and a button "{add}" '
        'add an entry; an entry without a name is called Other. Each entry has a "{remove}" button.',
        'expense tracker, one file. heading "{title}". entries: {entries}. "Total: €{total}" below, always right. form: '
        'text input "{what}", number input "{amount}" (default 10), button "{add}". if the name is empty use "Other". '
        'every row can be deleted with a button "{remove}".',
        '{why} I want to open a page headed "{title}", see {entries} in a list with amounts, and the sum as '
        '"Total: €{total}". To add something I fill in "{what}" (text) and "{amount}" (a number input with 10 already '
        'in it) and press "{add}". A missing name simply becomes Other. Mistakes go away with "{remove}" next to the '
        "entry. Everything lives in state, no backend.",
    ),
    lambda f: [
        heading(f["title"]),
        *texts([entry[0] for entry in f["entries"][:2]]),
        role("textbox", f["what"]),
        role("spinbutton", f["amount"]),
        text(f"Total: €{f['total']}"),
        typed(f["what"], f["new"], then=f["add"], text=f"Total: €{f['total'] + 10}"),
        typed(f["amount"], "25", on="spinbutton", then=f["add"], text=f"Total: €{f['total'] + 35}"),
        click(f["remove"], changes="number"),
    ],
    (template("expenses"),),
    lambda f: {"total": sum(int(entry[1]) for entry in f["entries"])},
)

INVENTORY = Family(
    "inventory",
    "why title items** restock only_low",
    """
I manage the storeroom of a hospital ward. | Ward storeroom | Gloves / 14; Masks / 3; Syringes / 40; Bandages / 2 | Order ten | Only what runs low
A bike shop with too many small parts. | Parts in stock | Inner tubes / 22; Chains / 4; Bells / 31; Saddles / 1 | Restock | Show low stock only
Our bar needs to know before Friday. | Bar stock | Tonic / 36; Limes / 5; Rum / 12; Mint / 3 | Refill | Running low
For a school kitchen. | School kitchen | Apples / 55; Rice bags / 2; Milk / 18; Flour / 4 | Buy ten | Just the low ones
Print shop, paper and ink. | Paper and ink | A4 reams / 48; A3 reams / 5; Black ink / 9; Cyan ink / 2 | Reorder | Low only
I sell candles from my garage. | Candle stock | Vanilla / 17; Cedar / 1; Lavender / 26; Smoke / 5 | Pour ten more | Nearly sold out
A mountain hut must order by helicopter. | Hut supplies | Firewood / 70; Gas / 3; Pasta / 24; Soap / 2 | Fly in ten | What is short
Museum shop. | Museum shop | Postcards / 90; Mugs / 4; Posters / 13; Pencils / 5 | Restack | Almost gone
For a food bank run by volunteers. | Food bank shelves | Beans / 64; Oats / 5; Juice / 21; Nappies / 3 | Donation came in | Needed now
Electronics lab at a university. | Lab drawer | Resistors / 88; Relays / 2; Sensors / 11; Fuses / 4 | Top up | Below five
Florist, cut flowers change daily. | Flowers today | Tulips / 33; Peonies / 2; Ferns / 15; Lilies / 5 | New bunch | Few left
A game shop with trading cards. | Card shop | Booster packs / 52; Dice sets / 3; Sleeves / 20; Playmats / 1 | Unpack ten | Low stock
Our vet practice keeps drugs under lock. | Medicine cabinet | Wormer / 16; Eye gel / 4; Vaccine / 29; Sedative / 2 | Receive delivery | Critical only
Construction site container. | Site container | Helmets / 19; Drills / 5; Cement / 44; Tarps / 3 | Send ten | Short supplies
An e-commerce store for socks. | Sock warehouse | Striped / 61; Dotted / 4; Wool / 23; Ankle / 5 | Knit ten | Low socks
""",
    (
        '{why} Build an inventory page headed "{title}" with a table of items and units: {items}. Items with five units '
        'or fewer are marked "Low". Show "Units in stock: {total}". Each row has a button "{restock}" that adds ten '
        'units, and a checkbox "{only_low}" hides everything that is not low.',
        'Inventory table (real table element). Heading "{title}"; rows {items}, columns for the item, the units and an '
        'action. Badge "Low" at 5 or less. Button "{restock}" per row: plus 10. Line "Units in stock: {total}". '
        'Checkbox labelled "{only_low}" as a filter.',
        '{why} So I need the heading "{title}", a line "Units in stock: {total}" that follows every change, and a table '
        'with {items}. What has at most five left gets a little tag that says "Low". When new goods arrive I click '
        '"{restock}" in the row and it gets ten more. With the checkbox "{only_low}" I see just the tagged ones.',
    ),
    lambda f: [
        heading(f["title"]),
        role("table"),
        role("row", min=5),
        text(f["items"][0][0]),
        text("Low"),
        text(f"Units in stock: {f['total']}"),
        click(f["restock"], text=f"Units in stock: {f['total'] + 10}"),
        click(f["only_low"], on="checkbox", no_text=f["items"][2][0]),
    ],
    (template("inventory"),),
    lambda f: {"total": sum(int(item[1]) for item in f["items"])},
)

INVOICE = Family(
    "invoice",
    "why title one two three lines** add paid stamp",
    """
I am a carpenter and write invoices by hand. | Invoice 2025-014 | Work | Hours | Rate | Build shelf / 6 / 45; Fit doors / 4 / 52 | Add line | Mark as paid | Paid in full
For a translation office. | Invoice for Meridian Ltd | Text | Pages | Per page | Contract / 12 / 30; Manual / 5 / 24 | Another text | Payment received | Settled
We rent out party gear. | Party bill | Thing | Pieces | Each | Benches / 8 / 6; Tents / 2 / 75 | Extra item | Money is in | Thank you for paying
A music teacher needs something simple. | Lessons in May | Pupil | Lessons | Fee | Ida / 4 / 28; Oskar / 3 / 35 | Add pupil | Parents paid | All paid up
Invoices of a web designer. | Invoice: Cafe Milou | Task | Days | Day rate | Design / 3 / 320; Coding / 2 / 360 | New task | Client has paid | Closed
A dairy delivers to restaurants. | Delivery note 77 | Product | Crates | Crate price | Yoghurt / 5 / 14; Butter / 2 / 31 | One more product | Cash collected | Paid at the door
My window cleaning business. | Windows, Tower East | Floor | Windows | Per window | First / 20 / 4; Second / 18 / 5 | Add floor | Tick as paid | Done and paid
Bills of a small vet. | Bill for Mister Socks | Treatment | Times | Charge | Check-up / 1 / 42; Injection / 2 / 19 | Add treatment | Owner paid | No open bill
For stall holders at a flea market. | Stall fees | Stall | Days booked | Fee per day | Corner / 2 / 40; Small / 3 / 22 | Add stall | Stall paid | Fee received
A photographer sends these after shoots. | Shoot at the mill | Service | Units | Unit price | Portraits / 10 / 25; Prints / 6 / 12 | Add service | Set to paid | Invoice paid
Catering, with long lists. | Catering for Novak | Dish | Portions | Per portion | Goulash / 30 / 8; Dumplings / 25 / 5 | Add dish | They paid | Bill is settled
I charge for 3D printing by part. | Print job 203 | Part | Copies | Copy price | Gear / 9 / 7; Housing / 2 / 38 | Add part | Confirm payment | Payment confirmed
A language coach. | Coaching in June | Topic | Sessions | Per session | Interview / 2 / 70; Accent / 5 / 55 | Add topic | Coaching paid | Gracias, paid
Our brewery bills bars. | Bill: The Anchor | Beer | Kegs | Keg price | Lager / 4 / 88; Porter / 1 / 96 | Add beer | Bar has paid | Cheers, paid
For gardeners. | Garden invoice | Job | Visits | Visit price | Mowing / 4 / 33; Hedges / 1 / 120 | Add job | Job paid | Nothing left to pay
""",
    (
        '{why} Please make an editable invoice with the heading "{title}": a table with the columns "{one}", "{two}" '
        'and "{three}", filled with {lines}. "{two}" is a number input in every row. Above the table "Lines: 2", below '
        'it "Total due: €{total}". Button "{add}" appends an empty line, button "{paid}" shows "{stamp}".',
        'Invoice editor. heading "{title}", table columns "{one}", "{two}", "{three}". lines: {lines} (in brackets: '
        '{two} and {three} in euros). The second column holds number inputs. Show "Lines: 2" and "Total due: €{total}", '
        'both live. Buttons: "{add}" (empty line) and "{paid}" (shows "{stamp}").',
        '{why} On the page: "{title}" as a heading, a counter "Lines: 2", then a table whose header says "{one}", '
        '"{two}", "{three}". The lines are {lines}. I must be able to change the values under "{two}" in number inputs, '
        'and "Total due: €{total}" has to follow at once. "{add}" gives me one more empty line. When the money arrives '
        'I press "{paid}" and it says "{stamp}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("columnheader", f["two"]),
        role("spinbutton", min=2),
        text("Lines: 2"),
        text(f"Total due: €{f['total']}"),
        {"check": "type", "role": "spinbutton", "value": "7", "expect": {"text": f"Total due: €{f['new_total']}"}},
        click(f["add"], text="Lines: 3"),
        click(f["paid"], text=f["stamp"]),
    ],
    (template("invoice"),),
    lambda f: {
        "total": sum(int(line[1]) * int(line[2]) for line in f["lines"]),
        "new_total": 7 * int(f["lines"][0][2]) + int(f["lines"][1][1]) * int(f["lines"][1][2]),
    },
)

ADMIN = Family(
    "admin",
    "why title sections* tiles** rows** note",
    """
We sell e-bikes and the staff needs one place for everything. | E-bike back office | Overview; Orders; Help | Sold today / 9; In repair / 4 | 1041 / Falke; 1042 / Ostra; 1043 / Nimbus | Call the workshop on extension 12
A dentist with three assistants. | Practice console | Today; Patients; Emergency | Appointments / 17; Free slots / 2 | Mr. Abel / 9:00; Ms. Ito / 9:30; Mr. Sand / 10:15 | Doctor Reyes is on duty
Campsite administration. | Campsite desk | Summary; Pitches; Rules | Tents / 38; Caravans / 21 | A1 / taken; A2 / free; A3 / taken | Quiet hours start at ten
Streaming channel backend. | Channel studio | Stats; Videos; Support | Views / 12,480; Subscribers / 903 | Knots / 4:10; Sails / 6:32; Anchors / 5:01 | Ask in the creator forum
For librarians. | Library desk | Status; Loans; Contact | Books out / 214; Overdue / 8 | Moby / Tuesday; Emma / Friday; Dune / Monday | Head office closes at five
An admin page for a farm robot fleet. | Robot control | Fleet; Missions; Manual | Online / 6; Charging / 3 | Weeder / field 2; Seeder / field 5; Scout / barn | Press the red knob to stop
Ticketing for a theatre. | Box office | Tonight; Bookings; Notes | Sold / 412; Left / 38 | Row A / Klein; Row C / Duarte; Row F / Osei | Latecomers enter after act one
Management page of a ghost kitchen. | Kitchen control | Live; Dishes; Suppliers | Open orders / 13; Couriers / 5 | Ramen / 11 min; Curry / 14 min; Salad / 6 min | Vegetables come at seven
Small hosting provider. | Host panel | Health; Servers; Docs | Uptime / 99.97%; Alerts / 1 | atlas / ok; boreas / ok; ceres / slow | Read the restart guide first
A charity that ships toys. | Toy depot | Figures; Parcels; Volunteers | Packed / 640; Shipped / 588 | Box 1 / Lima; Box 2 / Accra; Box 3 / Riga | Shifts are on the door
Language school office. | School office | At a glance; Courses; Teachers | Students / 186; Rooms free / 3 | Italian / A1; Korean / B2; Welsh / A2 | Ines is ill this week
Our climbing gym. | Gym office | Now; Courses; Safety | Inside / 54; Ropes out / 12 | Kids / 16:00; Lead / 18:00; Yoga / 20:00 | Check knots twice
An app for landlords. | House manager | House; Tenants; Caretaker | Flats let / 23; Empty / 1 | Flat 1 / Kaya; Flat 2 / Brandt; Flat 3 / Popov | Mr. Lund has the keys
Festival operations. | Festival control | Gates; Stages; Weather | Visitors / 8,310; Lost kids / 0 | Hill / Foxglove; Lake / DJ Ume; Barn / Old Salt | Thunder is unlikely
The control room of a ski resort. | Slope control | Resort; Lifts; Avalanche | Skiers / 2,940; Snow / 118 cm | Gondola / open; T-bar / closed; Chair 4 / open | Risk level is two
""",
    (
        '{why} Build an admin page with the heading "{title}" and a nav element with the buttons {sections}. '
        '"{first}" is shown at first, with tiles {tiles}. "{second}" shows a table with the rows {rows}. "{third}" '
        'shows the sentence "{note}".',
        'admin dashboard, single component file. h1 "{title}"; sidebar <nav> with buttons {sections}; the first section '
        'has KPI cards {tiles}, the second a real table: {rows}, the third just a text: "{note}". only the active '
        "section is rendered.",
        "{why} On the left there should be a navigation (nav) with three buttons: {sections}. On the right the content: "
        'for "{first}" two tiles, {tiles}; for "{second}" a table with {rows}; for "{third}" the text "{note}". Start '
        'with "{first}". On top of the page stands "{title}" as a heading.',
    ),
    lambda f: [
        heading(f["title"]),
        role("navigation"),
        *[button(section) for section in f["sections"]],
        text(f["tiles"][0][0]),
        click(f["sections"][1], role="table"),
        click(f["sections"][2], text=f["note"]),
    ],
    (template("admin"),),
)

CONTACTS = Family(
    "contacts",
    "why title people** label add search query",
    """
Our choir has a paper list that nobody can find. | Choir contacts | Agnes Holm / 555 0101; Bo Karlsson / 555 0102; Cleo Martin / 555 0103 | New member | Add member | Search members | agnes
I am an estate agent with many buyers. | Buyers | Dupont / 555 0110; Okonkwo / 555 0111; Silva / 555 0112 | Buyer name | Save buyer | Find buyer | silva
A midwife on the road. | My families | Family Aydin / 555 0120; Family Berg / 555 0121; Family Chow / 555 0122 | Family | Register | Look up | berg
Suppliers of a small restaurant. | Suppliers | Fish by Otto / 555 0130; Green Cart / 555 0131; Mill and Sons / 555 0132 | Supplier name | Add supplier | Filter suppliers | mill
For a football coach. | Team phone list | Ravi / 555 0140; Sean / 555 0141; Tariq / 555 0142 | New player | Add player | Which player | tariq
Alumni of our tiny university. | Alumni | Uma Rao / 555 0150; Vera Lund / 555 0151; Will Adu / 555 0152 | Graduate | Add graduate | Search alumni | vera
Emergency numbers for hikers. | Emergency numbers | Hut keeper / 555 0160; Mountain rescue / 555 0161; Valley doctor / 555 0162 | Service | Add number | Search numbers | rescue
We rent rooms to musicians. | Musicians | Duo Amber / 555 0170; Trio Basalt / 555 0171; Quartet Coral / 555 0172 | New ensemble | Add ensemble | Find ensemble | basalt
A beekeepers' club with members all over the county. | Beekeepers | Daphne / 555 0180; Edgar / 555 0181; Fatou / 555 0182 | New beekeeper | Join | Search beekeepers | edgar
The neighbours' watering service for holidays. | Who waters what | Balcony Gül / 555 0190; Garden Hahn / 555 0191; Terrace Ivanov / 555 0192 | New neighbour | Add neighbour | Find neighbour | hahn
Clients of a tax adviser. | Clients | Jansen GmbH / 555 0200; Kowalski / 555 0201; Lopez and Co / 555 0202 | Client name | Open file | Search clients | lopez
I foster kittens and talk to many vets. | Vets I trust | Dr. Marsh / 555 0210; Dr. Nakata / 555 0211; Dr. Osman / 555 0212 | New vet | Add vet | Search vets | nakata
Volunteer list of a beach clean-up. | Beach crew | Piet / 555 0220; Quinn / 555 0221; Rosalind / 555 0222 | Volunteer | Sign up | Search crew | quinn
Freelancers our agency books. | Freelancers | Sasha, copy / 555 0230; Tobi, motion / 555 0231; Ulla, code / 555 0232 | Freelancer | Add freelancer | Search skills | motion
School bus drivers and their phones. | Bus drivers | Line 1 Vince / 555 0240; Line 2 Wanja / 555 0241; Line 3 Xenia / 555 0242 | New driver | Add driver | Search drivers | wanja
""",
    (
        '{why} Make a contact list with the heading "{title}". People with their phone number: {people}. The names are '
        'buttons; clicking one shows the number. It says "3 contacts". A text field "{label}" and a button "{add}" add '
        'somebody, and a second text field "{search}" filters the names.',
        'Contact manager: heading "{title}", entries {people}. Each name is a button that opens the details (phone '
        'number hidden before). Counter text "3 contacts". Add form: text input "{label}", button "{add}". Filter: text '
        'input "{search}". New people have no number yet.',
        '{why} Could you build that as a small app? Heading "{title}". In the list {people}, but the phone number only '
        'shows after a click on the name (make the names buttons). I add people with the field "{label}" and "{add}", '
        'a line "3 contacts" counts along, and "{search}" is a text field to narrow the list down.',
    ),
    lambda f: [
        heading(f["title"]),
        *[button(person[0]) for person in f["people"]],
        text("3 contacts"),
        click(f["people"][0][0], text=f["people"][0][1]),
        typed(f["label"], "Jo Newcomer", then=f["add"], text="4 contacts"),
        typed(f["search"], f["query"], no_text="Newcomer"),
    ],
    (template("contacts"),),
)

CHAT = Family(
    "chat",
    "why title people** label send",
    """
A support inbox for our bakery shop. | Bakery inbox | Lotte / Is the rye bread vegan?; Marco / My order never came; Nadia / Do you ship cakes? | Reply | Send reply
For a dating site for gardeners, seriously. | Garden hearts | Olive / I love your compost; Parker / Roses or tomatoes?; Rue / Shall we swap seeds? | Write back | Send
Tenants write to the house management. | House mailbox | Flat 3 / The heating is cold; Flat 7 / Who parks in my spot?; Flat 9 / The light flickers | Answer | Send answer
Teachers and parents should be able to message. | School messages | Mrs. Adler / Ben forgot his book; Mr. Bose / Can we meet on Monday?; Ms. Cruz / The trip was great | Your answer | Reply now
A chat mock-up for a pitch. | Pitch chat | Anna / Are we on for today?; Bert / Slides are ready; Cem / Bring the adapter | Message | Send message
We help people learn Welsh by writing. | Welsh pen pals | Dylan / Bore da; Eira / Sut mae; Ffion / Nos da | In Welsh | Anfon
The ambulance dispatch training room. | Dispatch trainer | Unit 4 / Arrived at the scene; Unit 5 / Two minutes away; Unit 6 / Need a second crew | Radio text | Transmit
Messages between astronauts and ground. | Ground link | Orbiter / Solar panels are out; Lander / Dust on the lens; Rover / Rock sample taken | To space | Uplink
A helpdesk for students. | Student helpdesk | Gita / I lost my card; Hugo / Room 12 is locked; Ilse / Where is the exam? | Help text | Help
For my online shop of yarn. | Yarn questions | Kirsi / Is the blue one wool?; Lars / How many metres?; Mona / Can I return it? | Your reply | Reply to customer
Volunteers coordinate a food rescue. | Food rescue chat | North van / Forty loaves here; South van / Traffic on the bridge; Depot / Fridge is full | Note to team | Post
Internal messenger of a hotel. | Hotel messenger | Reception / Guest in 210 wants tea; Kitchen / Soup is out; Laundry / Towels at four | Staff message | Pass on
Game masters talk to players. | Tavern table | Elf / I hide behind the barrel; Dwarf / I order an ale; Bard / I sing loudly | Say as master | Speak
Fan mail for a puppet theatre. | Puppet post | Tilda / Is the wolf nice?; Umut / I want a dragon; Vivi / More songs please | Puppet answer | Send with love
A harbour talks to ships. | Harbour radio | Aurora / Request berth two; Boreas / Pilot on board; Calypso / Delayed by fog | To the ship | Call ship
""",
    (
        '{why} Build a two-column messenger with the heading "{title}". Left: a button for each of the people, with '
        'their first message in brackets: {people}. Right: the open conversation (at first the first one), "1 message" '
        'as a counter, a text field "{label}" and a button "{send}".',
        'Chat UI. heading "{title}". conversations {people}; each name is a button, in brackets what they wrote. Only '
        'the selected conversation is visible, it starts with the first. Above it "1 message", counting up ("2 '
        'messages") when I type into "{label}" (text input) and press "{send}".',
        '{why} What it should do: heading "{title}"; on the left buttons with the names, on the right what that person '
        'wrote. The conversations: {people}. The first one is open. I write in a text input labelled "{label}" and '
        'press "{send}", my text appears as a bubble and "1 message" turns into "2 messages". Each conversation keeps '
        "its own messages.",
    ),
    lambda f: [
        heading(f["title"]),
        *[button(person[0]) for person in f["people"]],
        text(f["people"][0][1]),
        role("textbox", f["label"]),
        typed(f["label"], "On my way", then=f["send"], text="2 messages"),
        click(f["people"][1][0], text=f["people"][1][1]),
    ],
    (template("chat"),),
)

FAMILIES = (KANBAN, EXPENSES, INVENTORY, INVOICE, ADMIN, CONTACTS, CHAT)
