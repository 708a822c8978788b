"""Standard tier: shop, dashboard, table and chart, and small games and clocks."""

# ruff: noqa: E501  (tables of facts)

from tasks.react_families.kit import Family, button, click, heading, role, template, text, texts

CART = Family(
    "cart",
    "why title items** more less pay",
    """
Our farm shop goes online. | Your basket | Potatoes / 4; Eggs / 3; Apple juice / 6 | Add one | Take one out | Order
We sell tickets for a steam railway. | Tickets | Adult / 18; Child / 9; Dog / 5 | One more | One less | Pay now
Merch stand of a metal band. | Merch cart | Black shirt / 25; Beanie / 15; Tape / 8 | More metal | Less metal | Take my money
For a stationery shop. | Shopping cart | Fountain pen / 32; Ink / 11; Notebook / 14 | Plus | Minus | Go to checkout
A sushi bar orders by tablet. | Table 9 | Salmon roll / 7; Miso soup / 4; Green tea / 3 | Again please | Rather not | Send to kitchen
Room service in a hotel. | Room service | Club sandwich / 16; Soup of the day / 9; Cheesecake / 8 | Bring another | Bring one less | Call room service
I repair shoes. | Repairs in this order | New soles / 38; Heel tips / 12; Stitching / 20 | Increase | Decrease | Confirm repairs
A paint wholesaler. | Order list | White 10 l / 54; Primer / 31; Roller set / 17 | Add a unit | Remove a unit | Submit order
For a charity gift catalogue. | Gifts that help | Goat / 45; School desk / 28; Five seedlings / 10 | Give one more | Give one less | Give now
Street food festival tokens. | Tokens | Food token / 5; Drink token / 3; Kids token / 2 | Get more | Give back | Buy tokens
An ice rink rents things. | Rental cart | Skates / 8; Penguin aid / 6; Helmet / 4 | Rent another | Return one | To the ice
Online shop for reptile owners. | Reptile cart | Heat lamp / 29; Crickets / 7; Cork bark / 13 | Add | Drop | Check out
Lunch for meetings. | Catering order | Wrap platter / 48; Fruit bowl / 22; Coffee pot / 15 | Order more | Order less | Place order
My daughter plays shop and wants a real till. | Till | Banana / 2; Teddy bear / 12; Toy bus / 9 | Beep | Oops | Cash please
Spare parts for scooters. | Parts basket | Brake pads / 19; Mirror / 23; Fuse / 3 | Raise quantity | Lower quantity | Buy parts
""",
    (
        '{why} Make a shopping cart with the heading "{title}" and one of each in it: {items}, prices in euros. Every '
        'line has the buttons "{more}" and "{less}" for its quantity. Below: "Total: €{total}" and a button "{pay}".',
        'cart component: "{title}" (heading), items with price {items}, quantity 1 each. per line two buttons, '
        '"{more}" and "{less}". sum shown as "Total: €{total}", then a button "{pay}".',
        "{why} I want to see {items} in a list with their prices and quantities (1 to begin with), each with buttons "
        '"{more}" and "{less}". The sum is written "Total: €{total}" and follows. Heading "{title}", and at the end a '
        'big button "{pay}".',
    ),
    lambda f: [
        heading(f["title"]),
        *texts([item[0] for item in f["items"]]),
        role("button", f["more"], min=3),
        text(f"Total: €{f['total']}"),
        click(f["more"], text=f"Total: €{f['total'] + int(f['items'][0][1])}"),
        click(f["less"], text=f"Total: €{f['total']}"),
    ],
    (template("cart"),),
    lambda f: {"total": sum(int(item[1]) for item in f["items"])},
)

DASHBOARD = Family(
    "dashboard",
    "why title now then tiles**",
    """
I own two cafes and open this with my first coffee. | Cafe overview | This week | Last week | Revenue / €6,420 / €5,980; Customers / 1,315 / 1,248; Waste / 4% / 7%
Internal page for the support team. | Support desk | Today | Yesterday | Open tickets / 37 / 52; First reply / 9 min / 14 min; Happy callers / 91% / 88%
A solar park wants a status page. | Solar park South | Now | A year ago | Output / 3.2 MW / 2.7 MW; Panels online / 4,870 / 4,655; Sun hours / 8.5 / 7.9
For a podcast host. | Podcast numbers | March | February | Plays / 18,204 / 15,977; New listeners / 640 / 512; Average listen / 31 min / 28 min
Our clinic tracks waiting times. | Clinic today | Morning | Afternoon | Waiting / 14 / 22; Seen / 41 / 36; Average wait / 17 min / 26 min
I trade second-hand cameras. | Camera trade | Spring | Autumn | Sold / 83 / 61; Profit / $7,150 / $4,890; In stock / 29 / 44
A page for the school headteacher. | School at a glance | This term | Last term | Attendance / 96% / 93%; Library loans / 2,041 / 1,766; Sick notes / 58 / 97
Ferry line operations. | Ferry line | Weekday | Weekend | Passengers / 2,310 / 5,475; Cars / 488 / 912; On time / 98% / 89%
Greenhouse sensors, three of them. | Greenhouse B | Day | Night | Temperature / 26 °C / 17 °C; Humidity / 61% / 78%; Light / 840 lx / 3 lx
Charity, for the annual meeting. | What we reached | 2024 | 2023 | Donors / 3,902 / 3,415; Raised / £88,300 / £71,050; Volunteers / 264 / 219
A gym owner who loves numbers. | Gym numbers | January | June | Check-ins / 9,120 / 5,340; New members / 212 / 74; Towels lost / 31 / 12
A developer's dashboard for an API. | API health | Last hour | Last day | Requests / 48k / 1.1M; Errors / 0.2% / 0.4%; Slowest call / 810 ms / 1,930 ms
Our library is proud of its figures. | Library figures | Children | Adults | Members / 1,877 / 4,206; Books out / 3,150 / 5,018; Events / 24 / 16
For my online course. | Course insights | Cohort 5 | Cohort 4 | Students / 146 / 119; Finished / 72% / 64%; Questions asked / 530 / 388
Warehouse screen, must be readable from far. | Warehouse | Early shift | Late shift | Parcels / 7,740 / 6,905; Returns / 212 / 340; Forklifts / 11 / 8
""",
    (
        '{why} Build a dashboard with the heading "{title}" and three tiles: {tiles}. The first figure in brackets is '
        'for "{now}" and is shown at first, the second for "{then}"; two buttons with those names switch.',
        'Dashboard, heading "{title}". KPI cards ({now} value, {then} value): {tiles}. Buttons "{now}" and "{then}" '
        'choose which set is visible, default "{now}".',
        '{why} Three KPI cards please, {tiles}. What is in brackets: value for "{now}", value for "{then}". Let me '
        'flip between the two with buttons of that name, starting with "{now}". Title (heading): "{title}".',
    ),
    lambda f: [
        heading(f["title"]),
        *texts([tile[0] for tile in f["tiles"]]),
        text(f["tiles"][0][1]),
        button(f["then"]),
        click(f["then"], text=f["tiles"][0][2]),
        click(f["now"], no_text=f["tiles"][0][2]),
    ],
    (template("dashboard"),),
)

DATA_TABLE = Family(
    "data-table",
    "why title columns* rows** box",
    """
We manage rental flats. | Flats | Address; Rooms; Rent | Elm Road 4 / 3 / 980; Dock Street 9 / 2 / 1,150; Mill Lane 1 / 5 / 1,720; Fox Hill 7 / 1 / 610 | Hide Elm Road 4
Race results of our sailing club. | Regatta results | Boat; Skipper; Points | Seagull / Ann / 12; Pepper / Rui / 9; Blue Note / Tess / 15; Ursa / Olaf / 7 | Hide Seagull
For a seed bank. | Stored seeds | Plant; Year; Bags | Rye / 1998 / 40; Lupin / 2007 / 12; Flax / 2015 / 33; Vetch / 2020 / 8 | Hide Rye
Wages list of a small theatre. | Theatre staff | Name; Job; Hours | Cora / Sound / 31; Ivan / Lights / 38; Musa / Costumes / 24; Wren / Stage / 40 | Hide Cora
Fleet of a taxi company. | Taxi fleet | Car; Driver; Trips | Taxi 101 / Selma / 19; Taxi 102 / Igor / 22; Taxi 103 / Ling / 17; Taxi 104 / Ben / 25 | Hide Taxi 101
Our observatory logs meteors. | Meteor log | Time; Colour; Length | 22:04 / Green / 12°; 22:31 / White / 5°; 23:12 / Orange / 21°; 23:58 / Blue / 9° | Hide 22:04
An inventory for a costume rental. | Costumes | Costume; Size; Fee | Pirate / M / 20; Astronaut / L / 35; Swan / S / 28; Wizard / XL / 24 | Hide Pirate
Test runs of a small CI. | Test runs | Branch; Result; Seconds | main / passed / 61; login-fix / failed / 44; new-map / passed / 73; docs / skipped / 2 | Hide login-fix
Species counts in our pond. | Pond count | Species; May; June | Newt / 14 / 22; Toad / 31 / 18; Dragonfly / 5 / 47; Water beetle / 9 / 11 | Hide Toad
A beer festival needs a tap list. | Tap list | Tap; Beer; Strength | 1 / Black Barn / 6.2; 2 / Easy Rye / 4.4; 3 / Plum Sour / 5.0; 4 / Harvest / 5.6 | Hide Black Barn
Timetable for a mountain bus. | Mountain bus | Stop; Up; Down | Valley / 8:00 / 17:40; Chapel / 8:20 / 17:20; Alp / 8:45 / 16:55; Summit / 9:10 / 16:30 | Hide Chapel
For the wine list on our site. | Wines by the glass | Wine; Region; Glass | Riesling / Mosel / 6; Gamay / Loire / 7; Furmint / Tokaj / 8; Baga / Bairrada / 7 | Hide Gamay
A table of exoplanets for a school project. | Far planets | Planet; Star; Days | Kiri b / Kiri / 4; Ono c / Ono / 88; Tau d / Tau / 19; Zeno b / Zeno / 203 | Hide Ono c
Members of our cooperative. | Members | Member; Village; Shares | Abena / Kumasi / 12; Kofi / Obuasi / 5; Esi / Mampong / 9; Yaw / Bekwai / 14 | Hide Kofi
Our printer farm. | 3D printers | Printer; Material; Progress | Ada / PLA / 40%; Grace / PETG / 75%; Linus / Resin / 10%; Margaret / Nylon / 95% | Hide Linus
""",
    (
        '{why} I need a real HTML table headed "{title}" with the columns {columns} and these rows: {rows}. A checkbox '
        '"{box}" above removes that row from view.',
        'table component. heading "{title}", header cells {columns}. rows: {rows}. zebra stripes. Plus a checkbox '
        'labelled "{box}" that does what it says.',
        '{why} The data: {rows}. Columns are {columns}. Show it as a table under the heading "{title}". Over the table '
        'put a checkbox "{box}"; ticking it takes that line out of the table.',
    ),
    lambda f: [
        heading(f["title"]),
        role("table"),
        *[role("columnheader", column) for column in f["columns"]],
        role("row", min=5),
        role("checkbox", f["box"]),
        click(f["box"], on="checkbox", changes="text"),
    ],
    (template("data-table"),),
    lambda f: {"gone": f["box"].removeprefix("Hide ")},
)

CHART = Family(
    "bar-chart",
    "why title bars** as_table unit",
    """
For my running blog. | Kilometres per month | January / 82; February / 64; March / 120; April / 97 | Show as table | km
Energy report of a school. | Power used by building | Main hall / 410; Gym / 275; Kitchen / 330; Library / 90 | Table view | kWh
We compare our ice cream flavours. | Scoops sold on Sunday | Lemon / 140; Hazelnut / 210; Mango / 95; Liquorice / 20 | See the numbers | scoops
Water levels of five lakes, well, four. | Lake levels | Tarn / 61; Silverwater / 48; Long Lake / 77; Mirror Pond / 30 | As a table | cm
A poll result for the local paper. | Who uses the night bus? | Students / 44; Nurses / 25; Party people / 19; Others / 12 | Show table | %
Our book sales. | Copies sold by genre | Crime / 320; Poetry / 45; Cooking / 180; Travel / 115 | Give me a table | copies
Budget of our club. | Where the money goes | Rent / 600; Coaches / 850; Balls / 120; Trips / 430 | Open table | euros
Bug reports by module. | Open bugs | Login / 9; Search / 17; Export / 6; Payments / 13 | Switch to table | bugs
A sleep diary. | Hours slept | Monday / 7; Tuesday / 6; Wednesday / 8; Thursday / 5 | List the hours | h
Forest inventory. | Trees by species | Beech / 480; Spruce / 350; Oak / 210; Larch / 75 | Data as table | trees
Visitors to our open days. | Visitors | Friday / 130; Saturday / 420; Sunday / 385; Monday / 60 | Accessible table | people
Screen time, for a family talk. | Screen time | Mia / 95; Leo / 150; Dad / 180; Mum / 110 | Plain table | minutes
Rain gauges in our valley. | Rain this week | Upper farm / 22; Bridge / 31; School / 27; Quarry / 18 | Rain table | mm
The finance page for our band. | Income by source | Concerts / 2400; Shirts / 870; Streaming / 65; Lessons / 990 | Table please | $
Honey harvest. | Honey per hive | Hive 1 / 14; Hive 2 / 19; Hive 3 / 9; Hive 4 / 23 | Honey table | kg
""",
    (
        '{why} Draw a bar chart with plain divs or SVG, no chart library. Heading "{title}", bars {bars} in {unit}, '
        'each with its name and value. A button "{as_table}" replaces the chart by a table with the same data.',
        'bar chart, heading "{title}", data in {unit}: {bars}. every bar is labelled with name and value. button '
        '"{as_table}" toggles to an html table.',
        '{why} I picture horizontal bars, name on the left and value on the right: {bars} (unit: {unit}). "{title}" on '
        'top as a heading. For people who cannot see charts there is a button "{as_table}", which shows a proper '
        "table instead.",
    ),
    lambda f: [
        heading(f["title"]),
        *texts([bar[0] for bar in f["bars"]]),
        text(f["bars"][1][1]),
        button(f["as_table"]),
        click(f["as_table"], role="table"),
    ],
    (template("bar-chart"),),
)

STOPWATCH = Family(
    "clock",
    "why title time start stop reset",
    """
I study in blocks of twenty-five minutes. | Study block | 25:00 | Start | Pause | Reset
For debates at our school. | Speaking time | 03:00 | Start speech | Stop speech | New speaker
A tea timer that looks calm. | Darjeeling | 04:00 | Steep now | Hold on | Fresh cup
My physio gave me holds to practise. | Wall sit | 00:45 | Begin | Rest | Once more
Kitchen timer for a bakery. | Rye loaf | 55:00 | Bake | Interrupt | Next loaf
A chess clock, one side only. | White to move | 10:00 | Run clock | Halt clock | Set back
Our escape room needs a wall clock. | Time to escape | 60:00 | Lock the door | Open the door | Prepare room
For meditation, no sound. | Sit still | 15:00 | Sit | Stand up | Start from zero
Pitches at a start-up event. | Your pitch | 02:00 | Go | Freeze | Next team
An egg timer for kids. | Egg watch | 06:00 | Into the water | Out of the water | Another egg
Stage timer for bands. | Soundcheck | 20:00 | Count in | Break | Next band
For interval training. | Round one | 01:30 | Ring the bell | Throw towel | New round
Dark room timer for film. | Developer bath | 08:00 | Pour in | Stop bath | Rinse
A parking timer on my phone. | Parking | 30:00 | Parked | Leaving | Park again
Reading time for my son, twenty minutes a day. | Reading time | 20:00 | Open book | Close book | Tomorrow
""",
    (
        '{why} Build a countdown with the heading "{title}" that starts from "{time}". The button "{start}" starts it '
        'and then reads "{stop}", which pauses it. A second button, "{reset}", sets it back.',
        'Countdown timer: heading "{title}", display "{time}", a start button labelled "{start}" that turns into '
        '"{stop}" while running, and "{reset}".',
        '{why} Large digits, beginning at "{time}", with "{title}" as a heading. One button toggles between "{start}" '
        'and "{stop}", another one is "{reset}" and brings back the full time.',
    ),
    lambda f: [
        heading(f["title"]),
        text(f["time"]),
        button(f["start"]),
        button(f["reset"]),
        click(f["start"], role="button", name=f["stop"]),
        click(f["stop"], role="button", name=f["start"]),
    ],
    (template("clock"),),
    lambda f: {"seconds": int(f["time"][:2]) * 60 + int(f["time"][3:])},
)

QUIZ = Family(
    "quiz",
    "why title question right wrong other yes no",
    """
Trivia for our pub screen. | Pub quiz | Which bird cannot fly? | Ostrich | Swift | Heron | Correct, have a drink | Nope, guess again
For a geography lesson. | Capital cities | What is the capital of Australia? | Canberra | Sydney | Perth | Well done | Not this one
First aid course, online part. | First aid check | Where do you check the pulse? | Neck | Elbow | Knee | Right, go on | Wrong, think again
Onboarding quiz in our company. | Safety quiz | Where is the meeting point? | Car park | Roof | Lift | Yes, exactly | No, look at the map
My son learns to read clocks. | Clock quiz | How many minutes are in two hours? | 120 | 100 | 60 | Hooray | Almost, try again
A museum wants a riddle per room. | Room 3 riddle | Who painted with dots? | Seurat | Monet | Klee | You found it | Look around once more
Wine school. | Grape test | Which grape is white? | Riesling | Merlot | Syrah | Cheers | Sorry, that one is red
Quiz on traffic signs. | Driving theory | Who goes first at a roundabout? | Cars inside | Cars outside | Trucks | You may drive | Better walk today
For a website about bees. | Bee quiz | How many wings does a bee have? | Four | Two | Six | Buzz, correct | Buzz off, wrong
A chemistry teacher here. | Elements | Which element is a noble gas? | Argon | Iron | Boron | Noble answer | That one reacts
Icebreaker for our team meeting. | Guess the colleague | Who once lived on a boat? | Margit | Hassan | Pete | Ahoy, right | They get seasick
Grammar drill. | English verbs | What is the past of teach? | Taught | Teached | Teach | Perfect | There is no such form
Music school. | Note quiz | How many strings has a violin? | 4 | 5 | 6 | Bravo | Off key
Space night at the planetarium. | Space quiz | Which planet spins on its side? | Uranus | Mars | Venus | Out of this world | Lost in space
For parents-to-be. | Baby quiz | How often does a newborn sleep? | Most of the day | Only at night | Never | Enjoy the quiet | If only
""",
    (
        '{why} Please make a one-question quiz. Heading "{title}", the question "{question}" and three buttons: '
        '"{wrong}", "{right}" and "{other}". "{right}" is correct and shows "{yes}"; the others show "{no}" and one '
        "may try again.",
        'Quiz card. heading "{title}". "{question}" Answers as buttons: "{right}", "{other}", "{wrong}". feedback for '
        '"{right}": "{yes}". feedback for the other two: "{no}". after a wrong answer you can choose again.',
        '{why} The card has the heading "{title}" and asks "{question}". The choices are the buttons "{other}", '
        '"{wrong}", "{right}". If I pick "{right}" it says "{yes}", otherwise "{no}" and I can go on guessing.',
    ),
    lambda f: [
        heading(f["title"]),
        text(f["question"]),
        button(f["right"]),
        button(f["wrong"]),
        button(f["other"]),
        click(f["wrong"], text=f["no"]),
        click(f["right"], text=f["yes"]),
    ],
    (template("quiz"),),
)

BOARD = Family(
    "tic-tac-toe",
    "why title one two reset",
    """
A classic for rainy days. | Tic-tac-toe | X | O | New game
My kids prefer animals. | Cat against dog | C | D | Another round
For the waiting room of a dentist. | Teeth and brushes | T | B | Rinse and repeat
Valentine's day edition. | Love grid | H | K | Kiss again
Halloween page of our library. | Spooky grid | G | P | Haunt again
We have a summer party and need a silly game. | Sun and moon | S | M | Next day
It goes on the 404 page of our site. | Lost? Play a round | A | Z | Play again
For learners of the Greek alphabet. | Greek grid | α | β | Neos
Chess club warm-up. | Knights and bishops | N | B | Set up again
A game for a physics fair. | Plus and minus | P | N | Discharge
Gardeners' version. | Rose and tulip | R | T | Sow again
For the fan page of a football derby. | Derby grid | U | C | Kick off
Our coffee shop has a tablet on the counter. | Beans and leaves | B | L | Refill
Space themed please. | Orbit three | E | M | Relaunch
For two bored astronauts, or colleagues. | Three in a line | J | Q | Once more
""",
    (
        '{why} Build tic-tac-toe for two players, "{one}" and "{two}", under the heading "{title}". Nine square buttons '
        'in a grid, above them "Next: {one}" or "Next: {two}", below the grid a button "{reset}".',
        'Tic-tac-toe. heading "{title}". marks "{one}" and "{two}", {one} begins. status text "Next: {one}". the nine '
        'cells are buttons; under the grid there is a "{reset}" button. detect three in a row',
        '{why} It is tic-tac-toe with "{one}" and "{two}" as marks. I would like the heading "{title}", then a line '
        '"Next: {one}" that tells whose turn it is, then the 3 by 3 grid of buttons, and last the button "{reset}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("button", min=10),
        text(f"Next: {f['one']}"),
        button(f["reset"]),
        {"check": "click", "role": "button", "nth": 4, "expect": {"text": f"Next: {f['two']}"}},
        {"check": "click", "role": "button", "nth": 0, "expect": {"text": f"Next: {f['one']}"}},
        click(f["reset"], changes="text"),
    ],
    (template("tic-tac-toe"),),
)

RATING = Family(
    "star-rating",
    "why title send thanks pick",
    """
We want feedback after every taxi ride. | Rate your ride | Send rating | Thanks, drive safe | 4
For the end screen of an online lesson. | How was the lesson? | Submit | See you next week | 5
Restaurant, one tablet at the exit. | How did it taste? | Tell the chef | The chef says thanks | 3
A book review widget. | Rate this novel | Publish rating | Your rating is online | 2
Feedback on our help articles. | Was this clear? | Give stars | We will improve it | 4
Hotels care about pillows. | Rate your pillow | Save rating | Sleep well | 5
Delivery app. | Your courier | Rate courier | Courier informed | 3
Board game night, we rate each game. | Rate the game | Lock it in | Rating locked | 2
For a dog grooming salon. | Is your dog happy? | Bark | Woof, thank you | 5
Movie nights in our house get reviews. | Tonight's film | Rate film | Popcorn earned | 3
Swimming pool, water quality survey. | Water quality | Report | Noted by the lifeguard | 4
Museum visitors rate the exhibition. | Rate the exhibition | Leave stars | Come back soon | 4
App store prompt, but honest. | Do you like the app? | Rate honestly | Honesty appreciated | 2
The intern wants feedback on cake. | Cake feedback | Grade the cake | More cake on Friday | 5
Our co-working space asks monthly. | This month's mood | Share mood | Mood recorded | 3
""",
    (
        '{why} Make a star rating with the heading "{title}": five buttons with the accessible names "1 star", "2 stars" '
        'up to "5 stars". Picking {pick} shows "{pick} out of 5". A button "{send}" then says "{thanks}".',
        'Star rating component, heading "{title}", five star buttons (aria-label "1 star", "2 stars", ... "5 stars"), '
        'the chosen value as text, e.g. "{pick} out of 5", button "{send}" → "{thanks}".',
        '{why} Five clickable stars; each is a button with an aria-label from "1 star" to "5 stars". Under them I want '
        'to read "{pick} out of 5" if I clicked {pick}. There is also a "{send}" button that answers "{thanks}". '
        'Heading: "{title}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("button", "star", min=5),
        button(f["send"]),
        click(f"{f['pick']} stars", text=f"{f['pick']} out of 5"),
        click(f["send"], text=f["thanks"]),
    ],
    (template("star-rating"),),
)

FAMILIES = (CART, DASHBOARD, DATA_TABLE, CHART, STOPWATCH, QUIZ, BOARD, RATING)
