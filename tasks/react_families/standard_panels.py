"""Standard tier: panels that switch, open, close and step through content."""

# ruff: noqa: E501  (tables of facts)

from tasks.react_families.kit import Family, button, click, heading, role, template, text, texts

PRICING = Family(
    "pricing",
    "why title plans** cta",
    """
We launch a note-taking app next month. | Simple pricing | Solo / $5 / $50; Team / $18 / $180; Company / $64 / $640 | Start free trial
A yoga studio wants three memberships on one page. | Memberships | Drop in / €15 / €150; Flow / €39 / €390; Unlimited / €72 / €720 | Join
Hosting company, very plain. | Hosting plans | Seed / $3 / $33; Sprout / $8 / $85; Oak / $27 / $290 | Choose plan
I teach guitar online. | Learn guitar | Strummer / £12 / £120; Picker / £26 / £265; Virtuoso / £61 / £599 | Get lessons
We sell weather data to farmers. | Weather data | Field / €20 / €210; Farm / €47 / €480; Valley / €95 / €990 | Order data
For my meal-prep business. | Meal plans | Light / $41 / $430; Regular / $68 / $715; Family / $124 / $1290 | Feed me
A backup service for photographers. | Keep your photos | Hobby / $4 / $44; Studio / $16 / $170; Agency / $52 / $570 | Back up now
Our language app finally costs something. | Pick a plan | Curious / €7 / €63; Serious / €13 / €117; Bilingual / €29 / €261 | Subscribe
Car sharing in a small town. | Share a car | Rarely / €6 / €66; Weekly / €22 / €240; Daily / €58 / €640 | Get a key
I run a forum about model trains. | Support the forum | Branch line / $2 / $21; Express / $9 / $98; Railway baron / $31 / $333 | Support us
We clean office windows. | Window cleaning | Small office / £35 / £385; Medium office / £78 / £858; Tower / £210 / £2310 | Request cleaning
A public library for tools. | Borrow tools | Tinkerer / €3 / €30; Maker / €8 / €80; Workshop / €24 / €240 | Become a member
Bookkeeping software for bands. | Plans for musicians | Duo / $6 / $60; Quartet / $14 / $140; Orchestra / $49 / $490 | Try it
A plant subscription. | Green post | Sprig / £11 / £125; Pot / £23 / £260; Jungle / £54 / £610 | Send plants
Our video editor needs a pricing table. | Edit without limits | Clip / $10 / $99; Scene / $28 / $279; Feature / $83 / $833 | Upgrade
""",
    (
        '{why} Please build a pricing section. Heading "{title}". Three plans with their price by month and by year: '
        '{plans}. Two buttons, "Monthly" and "Yearly", switch all prices; monthly is shown first. Every plan gets a '
        '"{cta}" button.',
        'Pricing table with a billing toggle. "{title}" as heading, plans (month, year): {plans}. Buttons "Monthly" '
        'and "Yearly" change which price is visible, starting with monthly. CTA on each card: "{cta}".',
        '{why} I need three price cards side by side under the heading "{title}": {plans}, first number per month, '
        'second per year. Only one of the two is visible, depending on whether "Monthly" (default) or "Yearly" was '
        'clicked (plain buttons). Below each price a button "{cta}". Highlight the one in the middle.',
    ),
    lambda f: [
        heading(f["title"]),
        *texts([plan[0] for plan in f["plans"]]),
        text(f["plans"][1][1]),
        role("button", f["cta"], min=3),
        click("Yearly", text=f["plans"][1][2]),
        click("Monthly", no_text=f["plans"][1][2]),
    ],
    (template("pricing"),),
)

ACCORDION = Family(
    "accordion",
    "why title faq**",
    """
Guests of our hostel ask the same things every day. | Before you arrive | When can I check in? / From two in the afternoon; Is there a kitchen? / Yes, on the second floor; Do you rent bikes? / Eight euros a day
I sell handmade knives. | Questions about our knives | Are they dishwasher safe? / Please wash them by hand; Do you sharpen? / Once a year for free; Which steel is it? / Carbon steel from Solingen
For a marathon. | Runner info | Where do I get my number? / At the old gym on Saturday; Are there toilets? / Every five kilometres; Can my dad ride along? / Only on the river path
Our app is new and people are suspicious. | Your data | Do you sell my data? / Never; Where is it stored? / On servers in Iceland; Can I delete it? / With one click in your account
A kindergarten is collecting questions. | For new parents | What should we bring? / Slippers and a spare shirt; Is lunch included? / Warm lunch every day; What if my child is sick? / Call before eight
I give beekeeping courses. | Beekeeping course | Will I get stung? / Probably once or twice; Do I need a suit? / You can borrow one; Is there honey? / A jar for everyone
Help page of a bike-sharing system. | Help | The bike will not unlock / Check your Bluetooth; I cannot end my ride / Park inside the blue area; I was charged twice / We refund within three days
For a photographer's wedding page. | Good questions | How many photos do we get? / About six hundred; Do you travel? / Anywhere by train; What if it rains? / I bring white umbrellas
Our theatre wants fewer phone calls. | Visiting the theatre | Is there a dress code? / Come as you like; Can I bring a wheelchair? / Rows A and F have space; May I take photos? / Only before the show
A solar installer, local. | Solar answers | How long does it last? / Around thirty years; Do I need a permit? / Not for most roofs; What about snow? / It slides off by itself
Support page for an e-reader. | E-reader support | The screen is frozen / Hold the button for nine seconds; How do I add books? / Drag them over with a cable; Can I read in the bath? / Up to one metre deep
I organise a repair cafe. | Repair cafe | What does it cost? / A donation if you can; What can I bring? / Anything you can carry; Who repairs it? / You do, we help
For a cheese subscription. | About the cheese box | How is it kept cold? / Wool and ice packs; Can I skip a month? / Up to the 25th; Is it suitable for vegetarians? / Ask for the rennet-free box
Rules page of a community pool. | Pool rules | May I dive? / Only from the long side; Are floats allowed? / On Sundays after four; Who watches the pool? / Two lifeguards all day
We host hackathons. | Hackathon basics | Do I need a team? / We match people on Friday night; Who owns the code? / You do; Is there food? / More than you can eat
""",
    (
        '{why} Build an accordion with the heading "{title}". Each question is a button and its answer (in brackets '
        "here) is hidden until I click: {faq}.",
        'FAQ accordion, heading "{title}". Items: {faq}. Questions are buttons, answers in brackets show up below '
        "their question on click and are not in the page before.",
        "{why} Make an FAQ from this: {faq}. The brackets hold the answers. They are all closed at the start; every "
        'question is a button that opens its own answer. Title of the section, as a heading: "{title}".',
    ),
    lambda f: [
        heading(f["title"]),
        *[button(item[0]) for item in f["faq"]],
        click(f["faq"][0][0], text=f["faq"][0][1]),
        click(f["faq"][2][0], text=f["faq"][2][1]),
    ],
    (template("accordion"),),
)

TABS_PANEL = Family(
    "tabs-panel",
    "why title tabs**",
    """
A product page for a tent. | Nordlys 2 | Features / Two doors and a porch; Size / 210 by 130 centimetres; Care / Dry it before you pack it
I am redoing our band page. | The Tin Foxes | Music / Three albums since 2018; Concerts / Next show in Ghent; Booking / Write to our manager Ilse
For a hotel room. | Room with a view | Room / A bed for two and a sofa; Bathroom / Rain shower with sea salt soap; Extras / Breakfast until noon
City portrait for a travel blog. | Weekend in Trieste | See / Walk out on the long pier; Eat / Order a plate of sardines; Sleep / Try the inn above the bakery
Course page of a university. | Soil physics | Contents / Water, air and heat in soil; Exam / Oral exam in July; Reading / Chapters two to five
Settings of a chess app. | Chess settings | Board / Walnut with coordinates; Clock / Ten minutes each; Sound / Soft clicks only
Our farm shop. | Farm shop | Vegetables / Leeks, chard and pumpkins; Eggs / Laid this morning; Flour / Ground on Thursdays
A patient leaflet. | Your new inhaler | Use / Shake it and breathe in slowly; Warnings / Not more than four times a day; Storage / Below 30 degrees
Car page for a dealer. | City car Pico | Engine / Electric, 60 kilowatts; Interior / Five seats and a dog net; Warranty / Eight years on the battery
For a museum audio guide. | Hall of minerals | Quartz / The most common one here; Opal / Holds a little water; Galena / Mined for its lead
Game guide. | Guide to Moss Island | Items / The rope is under the bridge; Enemies / Crabs fear the drum; Secrets / Count the chimneys twice
I need a profile page for a tutor. | Tutor: Femi Ade | About / Nine years of teaching maths; Hours / Weekdays after four; Rates / Thirty euros for one hour
Our conference. | Conf on Paper 2025 | Monday / Opening and paper folding; Tuesday / Workshops in small groups; Wednesday / Excursion to the mill
A page about our dog breed. | The Lagotto | History / Bred to find truffles; Character / Busy, loyal and loud; Grooming / Clip the curls twice a year
Release page of an open-source library. | Release 3.0 | News / Twice as fast on large files; Breaking / Old config files are refused; Thanks / Forty people helped
""",
    (
        '{why} Please make a tabbed panel, properly accessible (role "tab" and so on). Heading "{title}". Tabs with '
        "their text in brackets: {tabs}. The first one is open.",
        'Tabs component with ARIA roles tablist, tab, tabpanel. heading "{title}", tabs {tabs}; the bracket is what '
        "the panel says. First tab selected initially, only one panel visible.",
        '{why} There should be a heading "{title}" and three tabs (use role="tab"): {tabs}. What is in brackets is the '
        "content, and only the content of the active tab is displayed, beginning with the first.",
    ),
    lambda f: [
        heading(f["title"]),
        *[role("tab", tab[0]) for tab in f["tabs"]],
        text(f["tabs"][0][1]),
        click(f["tabs"][1][0], on="tab", text=f["tabs"][1][1]),
        click(f["tabs"][2][0], on="tab", no_text=f["tabs"][1][1]),
    ],
    (template("tabs-panel"),),
)

SETTINGS = Family(
    "settings",
    "why title options* choice values* save done",
    """
My podcast app has no settings page yet. | Playback settings | Skip silence; Download on wifi only; Show chapters | Quality | High; Medium; Low | Save settings | Settings saved
Privacy page for a fitness tracker. | Privacy | Share my route; Show my age; Appear in rankings | Who sees me | Friends; Everyone; Nobody | Apply | Privacy updated
Preferences of a text editor. | Editor preferences | Wrap long lines; Show line numbers; Trim spaces | Indent with | Tabs; Two spaces; Four spaces | Keep | Preferences kept
A control panel for a greenhouse. | Greenhouse settings | Open roof when hot; Mist at night; Warn me about pests | Crop | Tomatoes; Orchids; Lettuce | Store | Greenhouse is set
For a school portal. | Parent settings | Email me grades; Text me absences; Share photos | Portal language | English; Polish; Arabic | Save choices | Choices saved
We write a mail client. | Mail settings | Group by thread; Block images; Play a sound | Check mail | Every minute; Every hour; By hand | Save mail settings | Saved, back to your mail
A kiosk in a hotel lobby. | Kiosk | Large text; High contrast; Read aloud | Currency | Euro; Dollar; Yen | Confirm | Kiosk updated
Options screen of a platform game. | Options | Screen shake; Subtitles; Hold to run | Difficulty | Gentle; Normal; Brutal | Back to game with these | Options stored
Electric car, charging page. | Charging | Stop at 80%; Only cheap hours; Heat the battery | Cable | Home; Work; Motorway | Set charging | Charging plan set
Newsletter preferences. | What may we send you? | Weekly digest; New recipes; Events near me | Format | Plain text; With pictures; Audio | Update preferences | Thanks, we will stick to it
A kids mode for a tablet. | Kids mode | Block purchases; Hide video comments; Bedtime lock | Age group | Under six; Six to nine; Ten and up | Turn on | Kids mode is on
For people who rent out a flat. | Listing rules | Pets allowed; Smoking allowed; Self check-in | Cancellation | Flexible; Moderate; Strict | Publish rules | Rules are live
Museum touch table. | Exhibit settings | Loop the film; Dim at night; Count visitors | Film language | German; Dutch; Sign language | Save exhibit | Exhibit saved
My team uses a shared calendar. | Calendar settings | Show weekends; Show birthdays; Decline clashes | Week starts on | Monday; Sunday; Saturday | Save calendar | Calendar saved
Firewall of a home router, for normal people. | Home network | Guest network; Block adverts; Pause at dinner | Wifi band | Automatic; Fast; Far | Restart with these | Network restarting
""",
    (
        '{why} Build a settings page with the heading "{title}", checkboxes {options}, a select labelled "{choice}" '
        '({values}) and a "{save}" button that shows "{done}".',
        'Settings form. heading: "{title}". checkboxes: {options}. dropdown "{choice}": {values}. button "{save}" → '
        'message "{done}". Local state only.',
        '{why} Three checkboxes, {options}, then a dropdown "{choice}" with {values}. Title of the page is "{title}" '
        '(a real heading). When somebody hits "{save}", confirm with "{done}".',
    ),
    lambda f: [
        heading(f["title"]),
        *[role("checkbox", option) for option in f["options"]],
        role("combobox", f["choice"]),
        button(f["save"]),
        click(f["save"], text=f["done"]),
    ],
    (template("settings"),),
)

MODAL = Family(
    "modal",
    "why title open question body cancel confirm done",
    """
People delete their projects by accident. | Project Albatross | Delete project | Delete for good? | All 48 files will be gone. | Keep it | Yes, delete | Project deleted
Booking page for a sauna. | Private sauna, 90 minutes | Book sauna | Confirm your booking | You can cancel until six in the evening. | Go back | Book now | Enjoy the heat
Leaving a group chat needs a second thought. | Chat: Cousins | Leave chat | Leave the cousins? | You will not see new messages. | Stay | Leave anyway | You left the chat
We run an online auction. | Lot 17: brass telescope | Place bid | Bid 85 euros? | A bid is binding. | Not yet | Bid 85 | You are the highest bidder
For a bank. | Travel card | Freeze card | Freeze your card? | Payments will be refused until you thaw it. | Never mind | Freeze now | Card is frozen
An exam tool. | Final exam | Hand in | Hand in your exam? | Two questions are still empty. | Keep writing | Submit exam | Exam received
Cinema seats. | Row F, seats 7 and 8 | Buy seats | Check your seats | Row F is close to the screen. | Other seats | Pay 24 euros | Tickets are in your mail
My to-do app has a scary button. | Archive | Empty the archive | Empty everything? | Old tasks cannot be restored. | Cancel | Empty it | The archive is clean
Adoption page. | Meet Pickle | Adopt Pickle | Are you ready for a dog? | Pickle needs two walks a day. | Think again | I am ready | We will call you about Pickle
For a server room. | Server ares | Reboot server | Reboot ares? | Forty users are logged in. | Leave it running | Reboot now | Ares is rebooting
Subscription page. | Your magazine | End subscription | Sad to see you go | Your last issue arrives in June. | Stay subscribed | End it | Subscription ended
Water utility, report a leak. | Report a leak | Send report | Is water still running? | Please close the main valve first. | Edit report | Send it anyway | A team is on the way
Language exchange. | Partner: Salome | Ask for a call | Call Salome today? | She is free between five and seven. | Another day | Ask her | Salome got your request
An online game, selling rare items. | Ruby helmet | Sell it | Sell the ruby helmet? | You get 300 coins. | Keep helmet | Sell for 300 | Sold for 300 coins
A hotel lets guests check out on a screen. | Room 512 | Check out | Leaving already? | Please put the key in the box. | Stay a bit | Check me out | Safe travels
""",
    (
        '{why} Make a page with the heading "{title}" and a button "{open}". It opens a dialog titled "{question}" with '
        'the text "{body}" and the buttons "{cancel}" (closes it) and "{confirm}" (closes it and shows "{done}").',
        'Confirm dialog demo: heading "{title}", button "{open}". Dialog (role dialog): title "{question}", text '
        '"{body}", buttons "{cancel}" and "{confirm}". After confirming, the dialog is gone and the page says '
        '"{done}".',
        '{why} The page has a heading "{title}" and one button, "{open}". Clicking that opens a modal with '
        'role="dialog" which asks "{question}" and explains "{body}". "{cancel}" just closes it. "{confirm}" closes '
        'it too, and then "{done}" appears on the page.',
    ),
    lambda f: [
        heading(f["title"]),
        button(f["open"]),
        click(f["open"], role="dialog"),
        click(f["cancel"], no_text=f["body"]),
        click(f["open"], text=f["body"]),
        click(f["confirm"], text=f["done"]),
    ],
    (template("modal"),),
)

WIZARD = Family(
    "wizard",
    "why title steps* forward back",
    """
Moving in with a new energy supplier takes three screens. | Switch to green power | Your address; Meter number; Check and send | Continue | Previous
Onboarding of a meditation app. | Welcome to Stillwater | Pick a goal; Choose a time; Meet your guide | Next | Back
Tax return for students. | Easy tax return | Income; Expenses; Bank account | Onwards | Back a step
Claim form of an insurer. | Report damage | What happened; Photos; Contact | Next page | Page before
Setting up a label printer. | Printer setup | Plug it in; Choose paper; Print a test | Done, next | Wait, go back
Register a puppy. | Puppy registration | The puppy; The parents; The owner | Carry on | Return
Funeral homes need gentle software. | Plan a farewell | The person; The ceremony; The guests | Go on | One step back
I want a form for commissioned portraits. | Order a portrait | Choose a style; Choose a size; Delivery | Keep going | Earlier step
Application for a community garden plot. | Apply for a plot | About you; Your plot; Garden rules | Forward | Backward
Checkout of a shop. | Checkout | Basket; Shipping; Payment | Proceed | Go back
Hearing test in the browser. | Hearing test | Headphones; Left ear; Right ear | I am ready | Repeat previous
Sign up for a choir. | Join the choir | Your voice; Rehearsal day; Songs you know | Next verse | Previous verse
A setup assistant for our telescope mount. | Align the telescope | Level the tripod; Point north; Centre a star | Step done | Step back
Reporting a lost bank card. | Lost card | Which card; Last payment; New card | Next question | Last question
An interview tool for recruiters. | Interview plan | Warm-up; Skills; Questions for us | Next section | Section before
""",
    (
        '{why} Build a three-step wizard with the heading "{title}". It shows "Step 1 of 3" and the name of the step; '
        'the steps are {steps}. Buttons "{forward}" and "{back}". No field is required.',
        'Multi-step form, heading "{title}", steps {steps}. Only one step is visible at a time. Text "Step 1 of 3" and '
        'so on, "{forward}" goes on, "{back}" goes back. You may put simple inputs into the steps, but none is '
        "mandatory.",
        '{why} Please split it into the steps {steps}. On top "{title}" as a heading and the line "Step 1 of 3" which '
        'counts along, at the bottom the buttons "{back}" and "{forward}". One can click through without filling '
        "anything in.",
    ),
    lambda f: [
        heading(f["title"]),
        text("Step 1 of 3"),
        text(f["first"]),
        button(f["forward"]),
        click(f["forward"], text="Step 2 of 3"),
        click(f["forward"], text="Step 3 of 3"),
        click(f["back"], text="Step 2 of 3"),
    ],
    (template("wizard"),),
)

CAROUSEL = Family(
    "carousel",
    "why title slides* forward back",
    """
My grandmother's paintings deserve a gallery. | Paintings by Elsa | Harbour at dusk; The yellow kitchen; Three pears | Next painting | Previous painting
Testimonials for a dentist. | Happy patients | I was not afraid at all; Even my son smiled; Best chair in town | Next voice | Previous voice
Onboarding tips for a camera. | Three tips for better photos | Turn your back to the sun; Get closer; Wait for the moment | Next tip | Previous tip
Daily specials on the screen of a canteen. | This week | Monday: lentil dal; Tuesday: fish pie; Wednesday: gnocchi | Next day | Day before
A slide show for a retirement party. | Forty years of Walter | First day in 1984; The flood of 1997; Farewell 2024 | Later | Earlier
History of our village. | Our village | The mill burns down; The railway comes; The first bakery opens | Forward in time | Back in time
Facts about whales for kids. | Whale facts | They sing for hours; They sleep upright; They remember friends | Another fact | Last fact again
Flat for rent with pictures, placeholders are fine. | Sunny two-room flat | Living room; Bedroom; Balcony | Next room | Room before
I am an architect with few buildings. | Selected work | House by the lake; Bus station; Tiny chapel | Next project | Previous project
For a bird club. | Bird of the day | Wren; Kingfisher; Barn owl | Next bird | Previous bird
Step-by-step origami, text only. | Fold a crane | Fold the square in half; Open and squash; Pull the wings | Next fold | Undo fold
A product tour for our app. | Take the tour | Write a note; Tag it; Find it again | Show next | Show previous
Museum of games, highlights. | Highlights | A chess set from Mali; The first flipper; Dice made of bone | Next object | Object before
Quotes on the wall of a gym. | Gym wall | Rest is training; Lift with your brain; Stretch or regret | Next line | Previous line
Trail descriptions. | Three hikes | Lake loop, 6 km; Ridge walk, 11 km; Waterfall path, 4 km | Next hike | Previous hike
""",
    (
        '{why} I need a carousel headed "{title}" that shows one of these at a time: {slides}. A button "{forward}" '
        'and a button "{back}" move through them, round and round.',
        'Carousel component. Heading "{title}". Slides: {slides}, one visible at a time, starting with the first. '
        'Controls: "{forward}", "{back}". No autoplay.',
        '{why} Big cards, one at a time: {slides}. Put "{title}" above in a heading. With "{forward}" and "{back}" I '
        "flip through them; little dots show where I am. Please no automatic sliding.",
    ),
    lambda f: [
        heading(f["title"]),
        text(f["first"]),
        button(f["forward"]),
        button(f["back"]),
        click(f["forward"], text=f["second"]),
        click(f["forward"], text=f["third"]),
        click(f["back"], no_text=f["third"]),
    ],
    (template("carousel"),),
)

FAMILIES = (PRICING, ACCORDION, TABS_PANEL, SETTINGS, MODAL, WIZARD, CAROUSEL)
