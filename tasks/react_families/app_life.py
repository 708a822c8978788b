"""App tier: habits, shops, bookings, plans, recipes, form builders and event programmes."""

# ruff: noqa: E501  (tables of facts)

from tasks.react_families.kit import Family, button, click, heading, role, template, text, texts, typed

HABITS = Family(
    "habits",
    "why title habits* reset",
    """
I want to stop forgetting the small good things. | My week | Stretch; Read; Walk | New week
My kids get stars for chores. | Star chart | Brush teeth; Tidy room; Feed fish | Fresh chart
For a physiotherapist's patients. | Daily exercises | Bridge; Plank; Balance | Start the week again
I am learning the accordion. | Practice log | Scales; Left hand; One song | Clear the log
We try to be a greener office. | Green office | No lift; No paper cups; Lights off | Next week please
A choir singer asked me for this. | Voice care | Warm up; Drink water; Rest voice | Erase week
Recovery after my knee surgery, on doctor's orders. | Knee plan | Ice; Bend; Cycle | Begin anew
For writers with excuses. | Writing habit | Write 200 words; Edit a page; Read aloud | Blank week
Grandma's medicine, but friendly. | Grandma's week | Morning pill; Evening pill; Short walk | Monday again
Puppy school homework. | Puppy homework | Sit; Recall; Leash | Reset homework
My flatmates and I rotate duties. | Flat duties | Dishes; Bathroom; Rubbish | Wipe the board
A football academy tracks youth players. | Player habits | Sleep eight hours; Juggle; Stretch hips | Empty chart
Vocabulary training three times a day. | Words, words | Breakfast words; Lunch words; Bedtime words | Wind back
For people who want to drink less coffee. | Less coffee | Tea first; Water at noon; No cup after three | Reset week
I manage a shop and open it with a checklist. | Opening habits | Sweep; Count cash; Water plants | New checklist
""",
    (
        '{why} Build a habit tracker headed "{title}" with the habits {habits} as rows and the seven days of the week '
        'as columns, a checkbox in each cell. It says "0 of 21 done" and counts along. A button "{reset}" unticks '
        "everything.",
        'Weekly habit grid: heading "{title}", rows {habits}, columns Monday to Sunday, 21 checkboxes with sensible '
        'labels. Progress text "0 of 21 done". Button "{reset}".',
        "{why} Picture a grid: {habits} down the side, Monday to Sunday across, and a checkbox for every habit and day. "
        'Over it "{title}" as a heading and the text "0 of 21 done", which changes with each tick. Under it the button '
        '"{reset}" that clears the grid.',
    ),
    lambda f: [
        heading(f["title"]),
        *texts(f["habits"]),
        role("checkbox", min=21),
        text("0 of 21 done"),
        {"check": "click", "role": "checkbox", "nth": 0, "expect": {"text": "1 of 21 done"}},
        {"check": "click", "role": "checkbox", "nth": 9, "expect": {"text": "2 of 21 done"}},
        click(f["reset"], text="0 of 21 done"),
    ],
    (template("habits"),),
)

SHOP = Family(
    "shop",
    "why title items** add search query gone pay done",
    """
A friend sells ceramics and has no shop yet. | Clay and Co | Mug / 18; Plate / 24; Vase / 39; Teapot / 52 | Add to cart | Search the shop | vase | Teapot | Check out | Thank you for your order
For a seed company. | Seeds of change | Radish / 3; Pumpkin / 4; Sunflower / 3; Borage / 5 | Put in bag | Which seed | pump | Borage | Order seeds | Your seeds are on their way
We sell retro computer parts to nerds. | Byte bazaar | Floppy drive / 29; Trackball / 35; Modem / 12; Beige case / 48 | I need this | Find hardware | modem | Trackball | Buy it all | Handshake complete
Honey from nine villages. | Nine villages honey | Linden / 9; Heather / 12; Chestnut / 11; Clover / 8 | Take a jar | Search honey | heath | Clover | Send the jars | The bees say thanks
An online shop for left-handed people. | Lefty store | Scissors / 14; Tin opener / 16; Ruler / 5; Guitar / 210 | Add with left | Find a lefty item | guitar | Ruler | Go to the till | Well done, lefty
Museum bookshop on the web. | Museum books | Bronze Age / 34; Glass / 28; Masks / 31; Maps / 45 | Add book | Search books | mask | Glass | Pay for books | Enjoy reading
Second-hand skis for families. | Ski swap | Tiny skis / 40; Junior skis / 65; Long skis / 95; Sledge / 25 | Reserve | Look for | sledge | Long skis | Finish reservation | Reserved until Saturday
I make hot sauces with silly names. | Sauce lab | Mild Mary / 6; Angry Bee / 7; Lava Dad / 9; Dragon Tear / 12 | Bring the heat | Find a sauce | bee | Lava Dad | Burn my money | Milk is included
Yarn shop run by two sisters. | Two sisters yarn | Merino / 11; Alpaca / 15; Linen / 8; Mohair / 17 | Add a ball | Search yarn | alpa | Linen | Order yarn | Happy knitting
A shop for stage magicians. | Trick shop | Silk scarf / 13; Trick coin / 22; Top hat / 58; Fake thumb / 7 | Conjure | Find a trick | coin | Top hat | Abracadabra | Your order has vanished
Camping gear from a small brand. | Trail goods | Mat / 49; Lantern / 27; Spork / 8; Tarp / 66 | Pack it | Find gear | spork | Lantern | Start the trip | See you outside
Posters of old train lines. | Railway posters | Alpine line / 26; Coast line / 24; Night train / 30; Harbour tram / 22 | Add poster | Search posters | night | Coast line | Buy posters | All aboard
Fair-trade chocolate. | Good chocolate | Dark / 5; Milk / 4; Sea salt / 6; Ginger / 6 | Nibble | Which chocolate | ginger | Sea salt | Purchase | Sweet dreams
Spare keys and caps for keyboards. | Keycap corner | Red escape / 4; Wooden space / 19; Blank set / 55; Cat paw / 9 | Press to add | Filter keycaps | paw | Blank set | Enter | Clack clack, done
A bakery takes orders for Saturday. | Saturday bread | Rye / 6; Spelt / 7; Baguette / 3; Brioche / 8 | Bake me one | Find bread | spelt | Baguette | Order bread | Fresh on Saturday
""",
    (
        '{why} Make a small web shop with the heading "{title}". A grid of products with their prices in euros: {items}. '
        'Each has a button "{add}"; on top "Cart: 0" counts the pieces. A text field "{search}" filters, and "{pay}" '
        'empties the cart and shows "{done}".',
        'shop page, single React component. heading "{title}". products {items} (euros). button "{add}" on each card. '
        'cart counter "Cart: 0". text input "{search}" to filter by name. button "{pay}" → "{done}" and the counter '
        "goes back to zero.",
        '{why} The products are {items}, prices in euros, shown as cards under the heading "{title}". Let people find '
        'things with a text input labelled "{search}". Whoever clicks "{add}" on a card sees "Cart: 0" in the corner '
        'go up by one. There is also a "{pay}" button: afterwards the cart is empty and the page says "{done}".',
    ),
    lambda f: [
        heading(f["title"]),
        *texts([item[0] for item in f["items"][:2]]),
        role("button", f["add"], min=4),
        text("Cart: 0"),
        click(f["add"], text="Cart: 1"),
        typed(f["search"], f["query"], no_text=f["gone"]),
        click(f["pay"], text=f["done"]),
    ],
    (template("shop"),),
)

SLOTS = Family(
    "slots",
    "why title slots* none label name book",
    """
Booking for a barber who hates the phone. | Book a haircut | 09:00; 09:45; 11:15; 14:30 | No time chosen | Your name | Ezra | Book it
We lend out the village's only piano room. | Piano room | 10:00; 12:00; 16:00; 19:00 | Nothing picked yet | Pianist | Clara | Reserve room
Vaccination centre of a small town. | Vaccination | 08:10; 08:20; 08:30; 08:40 | Please pick a slot | Full name | Ingo Blum | Confirm slot
Tours of a lighthouse, six people each. | Lighthouse tour | 11:00; 13:00; 15:00; 17:00 | Choose a tour | Group leader | Petra | Climb up
Parents' evening, ten minutes per family. | Parents' evening | 17:00; 17:10; 17:20; 17:30 | No slot yet | Family name | Sorensen | Take slot
Test drives for an electric van. | Test drive | 09:30; 11:00; 13:30; 15:00 | Pick a time first | Driver | Anouk | Book test drive
Sauna in the woods. | Forest sauna | 14:00; 16:00; 18:00; 20:00 | Not chosen | Guest | Mikko | Heat it up
A recycling yard now needs appointments. | Recycling yard | 07:30; 08:00; 08:30; 09:00 | Choose your window | Car plate | BX 410 | Drive in
Video calls with a lawyer. | Call a lawyer | 10:15; 11:45; 15:15; 16:45 | No call planned | Caller | Femke | Plan the call
Our observatory on clear nights. | Look at Saturn | 21:00; 21:30; 22:00; 22:30 | Pick a view | Stargazer | Nila | Save my view
A tandem partner for learning Spanish. | Tandem | 08:00; 12:30; 18:00; 20:30 | Select an hour | Learner | Thabo | Meet
Studio photos for passports. | Passport photo | 09:10; 10:20; 12:40; 16:50 | Nothing selected | Customer | Wilma | Smile
Riding lessons on one very patient pony. | Pony lesson | 13:00; 14:00; 15:00; 16:00 | Which hour? | Rider | Juno | Saddle up
Laundry room of our building. | Laundry room | 06:00; 09:00; 12:00; 15:00 | No slot marked | Flat | 4B | Wash
Job interviews for a cafe. | Interviews | 10:00; 10:40; 11:20; 12:00 | Still open | Applicant | Rashid | Come in
""",
    (
        '{why} Please build a booking page with the heading "{title}" and the time slots {slots} as buttons. First it '
        'says "{none}"; clicking a slot shows "Chosen: {second}" (for that slot). With a text field "{label}" and the '
        'button "{book}" one gets "See you at {second}, {name}" (or whatever was chosen and typed).',
        'Appointment picker. heading "{title}", buttons for {slots}, status text "{none}", after a click '
        '"Chosen: {second}". text input "{label}", button "{book}", confirmation in the form '
        '"See you at {second}, {name}".',
        '{why} So there is the heading "{title}", a button for each of {slots}, and a line that reads "{none}" until '
        'somebody clicks a time, and then for instance "Chosen: {second}". Below, a text field labelled "{label}" and '
        'the button "{book}", which confirms with a sentence like "See you at {second}, {name}".',
    ),
    lambda f: [
        heading(f["title"]),
        *[button(slot) for slot in f["slots"][:3]],
        text(f["none"]),
        role("textbox", f["label"]),
        click(f["second"], text=f"Chosen: {f['second']}"),
        typed(f["label"], f["name"], then=f["book"], text=f"See you at {f['second']}, {f['name']}"),
    ],
    (template("slots"),),
)

RECIPES = Family(
    "recipe-box",
    "why title recipes** more fewer",
    """
My mother's three best dishes should fit on my phone. | Mum's kitchen | Dal / 80 / g lentils; Pilaf / 70 / g rice; Halva / 35 / g semolina | More servings | Fewer servings
For a cooking class. | Tonight we cook | Gnocchi / 250 / g potatoes; Pesto / 20 / g basil; Panna cotta / 120 / ml cream | Add a plate | Take a plate away
Recipes of an army cook who scales everything. | Field kitchen | Stew / 160 / g beef; Porridge / 55 / g oats; Bread / 140 / g flour | One more mouth | One mouth less
Bartenders need it for punch. | Punch book | Planter / 60 / ml rum; Garden / 45 / ml gin; Sober / 90 / ml apple juice | Bigger round | Smaller round
A baby food helper. | Baby spoons | Carrot mash / 75 / g carrots; Pear puree / 85 / g pears; Millet / 25 / g millet | Increase portions | Decrease portions
Pancake variations for our hostel breakfast. | Pancake desk | Classic / 65 / g flour; Vegan / 70 / g oat flour; Corn / 50 / g cornmeal | Another guest | Guest left
For a soup kitchen with changing numbers. | Soup numbers | Minestrone / 110 / g vegetables; Goulash / 95 / g pork; Pho / 85 / g noodles | Up | Down
My student cookbook. | Cheap and good | Fried rice / 90 / g rice; Chili / 120 / g beans; Frittata / 30 / g cheese | Feed one more | Feed one less
Smoothies at a gym. | Smoothie bar | Green / 40 / g spinach; Berry / 95 / g berries; Oat / 30 / g oats | Extra person | One person less
The dumpling calculator. | Dumplings | Pierogi / 105 / g dough; Momo / 95 / g filling; Gyoza / 65 / g cabbage | Plus one | Minus one
Camping meals for scouts. | Scout pot | Pasta pot / 125 / g pasta; Couscous / 75 / g couscous; Potato mash / 180 / g potatoes | One scout more | One scout less
For my sourdough workshop. | Dough table | Country loaf / 450 / g flour; Pizza / 160 / g flour type 00; Focaccia / 210 / g water | One more baker | One baker less
Salad dressings by the person. | Dressings | Vinaigrette / 15 / ml oil; Tahini / 12 / g sesame paste; Yoghurt / 35 / g yoghurt | Larger | Smaller
Ice cream at home. | Ice lab | Vanilla / 110 / ml milk; Sorbet / 95 / g fruit; Stracciatella / 25 / g chocolate | Another cone | One cone less
Paella and friends, for village parties. | Big pans | Paella / 100 / g short rice; Fideua / 85 / g noodles; Migas / 130 / g old bread | Bigger pan | Smaller pan
""",
    (
        '{why} Build a recipe app headed "{title}" with three recipes, in brackets the main ingredient for one person: '
        '{recipes}. Every recipe is a button. The first is open, for two people: "Servings: 2" and '
        '"{double} {unit}". The buttons "{more}" and "{fewer}" scale the amount.',
        'Recipe scaler: heading "{title}"; recipe buttons {recipes} (amount per person in brackets); detail area shows '
        '"Servings: 2" and the amount, e.g. "{double} {unit}"; buttons "{more}" / "{fewer}". Switching the recipe keeps '
        "the number of servings. First recipe is selected.",
        "{why} I have {recipes}; the brackets give the amount per person. I would like to tap on a recipe (buttons) and "
        'see how much I need. It begins with the first recipe, "Servings: 2" and so "{double} {unit}". "{more}" and '
        '"{fewer}" change the number of people, also for the other recipes. Heading on top: "{title}".',
    ),
    lambda f: [
        heading(f["title"]),
        *[button(recipe[0]) for recipe in f["recipes"]],
        text("Servings: 2"),
        text(f"{f['double']} {f['unit']}"),
        click(f["more"], text=f"{3 * int(f['recipes'][0][1])} {f['unit']}"),
        click(f["recipes"][1][0], text=f"{3 * int(f['recipes'][1][1])} {f['recipes'][1][2]}"),
    ],
    (template("recipe-box"),),
    lambda f: {"double": str(2 * int(f["recipes"][0][1])), "unit": f["recipes"][0][2]},
)

PLANNER = Family(
    "planner",
    "why title days* choice label one two add clear",
    """
What are we eating this week? My family asks daily. | Meal plan | Monday; Tuesday; Wednesday; Thursday; Friday | Day | Dish | Lasagne | Fish tacos | Plan dish | Clear week
Shift plan of a kiosk. | Kiosk shifts | Early; Noon; Late; Night | Shift | Worker | Samira | Tom | Assign | Remove all
Our band travels in a van and needs a plan. | Tour plan | Lille; Bruges; Cologne; Zwolle | City | Remark | Load in at four | Borrow an amp | Note | Tear up plan
A packing planner by bag. | What goes where | Backpack; Suitcase; Handbag | Bag | Thing | Tent pegs | Passport | Pack | Unpack all
For a teacher's seating by table. | Seating | Window table; Door table; Front table | Table | Pupil | Nikolai | Amina | Seat pupil | Empty classroom
Garden beds and what grows in them. | Bed planner | North bed; South bed; Herb spiral; Cold frame | Bed | Plant | Kale | Thyme | Plant it | Dig over
Conference rooms and talks. | Room plan | Aula; Cellar; Tent | Room | Talk | On moss | Cheap radios | Schedule | Cancel all
Homework by subject, for my son. | Homework | Maths; History; Latin; Art | Subject | Task | Page 31 | Sketch a hand | Add homework | All handed in
Watering plan for a hotel lobby. | Watering | Monday; Wednesday; Friday | Watering day | Plant name | Big palm | Orchids | Put on plan | Start over
Training split for beginners. | Training split | Legs; Push; Pull | Workout | Exercise | Lunges | Dips | Add exercise | Rest forever
A volunteer rota for the animal park. | Rota | Goats; Owls; Otters | Enclosure | Helper | Berta | Jonah | Enter helper | Wipe rota
Christmas presents by person. | Present list | Mum; Dad; Nana; Leo | Person | Present | Red scarf | Puzzle | Add present | Burn the list
Our film shoot has four days. | Shooting days | Day one; Day two; Day three; Day four | Shooting day | Scene | Train station | Rain fight | Add scene | Reshoot everything
Menu for a three-day hike. | Hike menu | Friday; Saturday; Sunday | Hiking day | Food | Oatmeal | Noodles | Add food | Eat everything
For cleaning a shared house floor by floor. | Cleaning plan | Ground floor; First floor; Attic | Floor | Chore | Mop hall | Dust shelves | Add chore | All clean
""",
    (
        '{why} Build a planner headed "{title}". Each of {days} has its own column with that heading. To add something '
        'choose from the dropdown "{choice}", type into the text field "{label}" and press "{add}". It shows '
        '"Planned: 0" and counts; "{clear}" empties everything.',
        'Planner: page heading "{title}"; one card per entry of {days}, with its name as a heading; select "{choice}"; '
        'text input "{label}"; button "{add}"; total "Planned: 0"; button "{clear}".',
        '{why} I see it like this. On top the heading "{title}" and "Planned: 0". Then a little form with a dropdown '
        '"{choice}" ({days}), a text input "{label}" and the button "{add}". Under that a column for each of them with '
        'its heading and whatever was added there. The button "{clear}" takes everything out again.',
    ),
    lambda f: [
        heading(f["title"]),
        *[heading(day) for day in f["days"][:2]],
        role("combobox", f["choice"]),
        text("Planned: 0"),
        typed(f["label"], f["one"], then=f["add"], text="Planned: 1"),
        typed(f["label"], f["two"], then=f["add"], text="Planned: 2"),
        click(f["clear"], text="Planned: 0"),
    ],
    (template("planner"),),
)

BUILDER = Family(
    "form-builder",
    "why title questions* label add new preview back",
    """
Our HR wants to make their own surveys. | Survey builder | Your department; Your best day | New question | Add question | Your wish | Preview | Back to editing
A vet sends questionnaires before the visit. | Pet questionnaire | Name of your pet; What does it eat | Question for owners | Add to form | How old is it | Try it out | Edit form
I run pub quizzes and write them on the train. | Quiz writer | Capital of Chad; Author of Emma | Next quiz question | Write it in | Colour of Mars | Play quiz | Stop playing
Research assistants build interview sheets. | Interview sheet | Where did you grow up; Who taught you to read | Interview question | Append | What did you sing | Interview mode | Leave interview
A club needs registration forms for trips. | Trip form | Who is coming; Allergies | Field name | Create field | Phone in emergencies | See form | Close form
For teachers who make worksheets. | Worksheet maker | Three words for rain; Opposite of brave | Exercise | Put on sheet | Rhyme on moon | Pupil view | Teacher view
My wedding guests should answer a few things. | Wedding questions | Song you will dance to; Fish or lentils | Another question | Ask this too | Do you need a bed | Guest view | Couple view
A doctor's practice goes paperless. | Patient form | Reason for visit; Known allergies | Form field | Insert | Current medicine | Patient mode | Staff mode
Feedback forms for a museum. | Visitor feedback | Favourite room; What was missing | Feedback question | Add it | Would you return | Visitor mode | Curator mode
For citizen science walks. | Field sheet | Place; Species seen | Column | Add column | Weather | Fill in | Change sheet
A recruiting start-up. | Application form | Last job; Why us | Form question | Extend | Salary hopes | Applicant view | Recruiter view
Scouts make a badge test. | Badge test | Name a knot; Find north how | Test question | Add test question | Treat a blister | Start test | Change test
An insurance agent collects damage reports. | Damage form | What broke; Who saw it | Report field | Add field | Time of day | Client view | Agent view
We ask residents about a new playground. | Playground survey | Age of your kids; Swing or slide | Survey question | Add to survey | Shade or sun | Resident view | Planner view
Podcast host, guests fill in a sheet. | Guest sheet | How to say your name; Your first record | Prompt for guests | Add prompt | A book you hate | Guest page | Host page
""",
    (
        '{why} Make a form builder with the heading "{title}". It lists the questions {questions} and says '
        '"2 questions". A text field "{label}" and the button "{add}" append a question. The button "{preview}" shows '
        'the form with one text input per question, labelled with it; "{back}" returns.',
        'Form builder, two modes. Editor: heading "{title}", list with {questions}, counter "2 questions", text input '
        '"{label}" + button "{add}", button "{preview}". Preview: a labelled text input for every question and a button '
        '"{back}".',
        '{why} In the editor I see the heading "{title}", the questions so far ({questions}), the line "2 questions", '
        'a text field "{label}" with a button "{add}", and a button "{preview}". If I click that, I get the finished '
        'form instead: each question is the label of a text input. "{back}" brings me to the editor again.',
    ),
    lambda f: [
        heading(f["title"]),
        *texts(f["questions"]),
        text("2 questions"),
        role("textbox", f["label"]),
        typed(f["label"], f["new"], then=f["add"], text="3 questions"),
        click(f["preview"], role="textbox", name=f["new"]),
        click(f["back"], role="button", name=f["preview"]),
    ],
    (template("form-builder"),),
)

AGENDA = Family(
    "agenda",
    "why title talks** tracks* add",
    """
Our developer day has three tracks. | Dev day programme | Small databases / 10:00 / Backend; Buttons that breathe / 10:30 / Design; Ship on Friday / 11:15 / Culture | Backend; Design; Culture | Add to my agenda
A village festival with too much going on. | Village festival | Brass band / 14:00 / Music; Pie contest / 15:00 / Food; Sack race / 16:00 / Games | Music; Food; Games | I am going
Book fair for children. | Book fair | Dragon reading / 11:00 / Readings; Make a comic / 12:30 / Workshops; Meet the bear / 14:00 / Guests | Readings; Workshops; Guests | Remember
Science night at the university. | Science night | Frozen roses / 18:00 / Chemistry; Robot dogs / 19:00 / Engineering; Old bones / 20:00 / Biology | Chemistry; Engineering; Biology | Save
Film festival, one weekend. | Film weekend | Salt / 17:00 / Drama; The Long Sock / 19:00 / Comedy; Reef / 21:00 / Documentary | Drama; Comedy; Documentary | Watch it
Wellness retreat guests plan their day. | Retreat day | Sunrise yoga / 06:30 / Body; Silent hour / 09:00 / Mind; Herb walk / 11:00 / Nature | Body; Mind; Nature | Join in
Open doors at the town hall. | Open town hall | Ask the mayor / 10:00 / Talk; Tower tour / 11:00 / Tours; Old maps / 13:00 / Archive | Talk; Tours; Archive | Put me down
A language conference. | Words and worlds | Lost vowels / 09:15 / Sound; Slang in Lagos / 10:00 / Society; Machine poems / 11:30 / Technology | Sound; Society; Technology | Attend
For an esports weekend. | Esports weekend | Kart final / 12:00 / Racing; Tower clash / 15:00 / Strategy; Mega jump / 18:00 / Platform | Racing; Strategy; Platform | Follow
Jazz in five pubs. | Pub jazz night | Trio Blau / 20:00 / Swing; Marta solo / 21:00 / Piano; Loud Nonet / 22:30 / Big band | Swing; Piano; Big band | Want to hear
Nurses' training day. | Training day | Safe lifting / 08:00 / Practice; New law / 10:00 / Theory; Burnout / 13:00 / Health | Practice; Theory; Health | Enrol
Farmers' market with demos. | Market demos | Cheese making / 09:00 / Dairy; Knife sharpening / 10:30 / Tools; Seed swap / 12:00 / Garden | Dairy; Tools; Garden | See it
A convention for knitters. | Knit con | Sock heels / 10:00 / Socks; Colour theory / 11:00 / Colour; Fix mistakes / 14:00 / Repair | Socks; Colour; Repair | Count me in
Astronomy club's summer camp. | Star camp | Find Vega / 22:00 / Observing; Build a sundial / 15:00 / Crafts; Life on Titan / 20:00 / Lecture | Observing; Crafts; Lecture | Pick
Career day in a school. | Career day | A baker's morning / 08:30 / Crafts; Inside an airport / 09:30 / Transport; Law for teens / 10:30 / Office | Crafts; Transport; Office | Choose
""",
    (
        '{why} Build an event programme with the heading "{title}". Sessions with time and track: {talks}. Filter '
        'buttons "All sessions", {tracks}. Each session has a button "{add}", and "My agenda: 0" counts what I added.',
        'Event schedule app: heading "{title}"; sessions {talks} (time, track); filter buttons {tracks} and "All '
        'sessions"; per session a button "{add}"; counter "My agenda: 0" at the top. A session can be added once.',
        "{why} People should be able to look through {talks} (in brackets: time and track), filter them by track with "
        'the buttons {tracks} (and "All sessions" to see everything), and collect sessions with "{add}". A line '
        '"My agenda: 0" goes up with each one. The heading is "{title}".',
    ),
    lambda f: [
        heading(f["title"]),
        *texts([talk[0] for talk in f["talks"][:2]]),
        button("All sessions"),
        text("My agenda: 0"),
        click(f["add"], text="My agenda: 1"),
        click(f["tracks"][1], no_text=f["talks"][0][0]),
        click("All sessions", text=f["talks"][0][0]),
    ],
    (template("agenda"),),
)

FAMILIES = (HABITS, SHOP, SLOTS, RECIPES, PLANNER, BUILDER, AGENDA)
