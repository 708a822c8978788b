"""Standard tier: lists to search, tick, vote on and comment on."""

# ruff: noqa: E501  (tables of facts)

from tasks.react_families.kit import Family, button, click, heading, role, template, text, texts, typed

TODO_APP = Family(
    "todo-app",
    "why title label add items* new",
    """
I open a bakery at five in the morning and forget half of what has to be done. | Before we open | New job | Add job | Heat the ovens; Feed the sourdough; Count the till | Order flour
Our flat share argues about chores. | Flat 12 chores | Chore | Put it up | Take out glass; Clean the bath; Buy bin bags | Defrost freezer
I am moving to Rotterdam in May. | Moving house | Next thing | Remember | Cancel gym; Measure the sofa; Book a van | Forward post
This is for the volunteers of an animal shelter. | Shelter rounds | Task name | Add to rounds | Walk Bruno; Clean cages; Weigh kittens | Refill hay
My daughter starts school and there is so much to get ready. | First day of school | Thing to do | Add thing | Label the pens; Sew name tags; Try the bus | Buy indoor shoes
For our two-person game studio. | Build 0.9 | Ticket | File it | Fix jump bug; Record footsteps; Balance boss | Translate menu
I keep bees and the season is short. | Hive 3 | Inspection note | Log it | Check the queen; Add a super; Treat for mites | Mow around hive
We organise a village fete every summer. | Fete committee | What is missing | Add to the list | Hire the tent; Ask the band; Print raffle tickets | Borrow trestle tables
I am writing my thesis and need small steps. | Thesis this week | Small step | Add step | Rewrite abstract; Plot figure 2; Email supervisor | Check references
Grandpa has a tablet now and likes big clear lists. | Grandpa today | What else | Write down | Take blue pill; Call Marie; Water tomatoes | Feed the cat
My band plays its first festival. | Load-in list | Item | Pack it | Spare strings; Power strip; Setlists | Gaffer tape
I restore old motorcycles in my garage. | 1974 restoration | Part or job | Note it | Strip the tank; Order gaskets; Rewire lights | Polish chrome
For nurses on the night shift, on a shared screen. | Ward B tonight | Handover item | Add item | Bed 4 drip; Call pharmacy; Check fridge log | Bed 9 scan
I plan surprise parties for a living. | Surprise for Yara | Secret task | Hide it here | Distract Yara; Inflate balloons; Cue the song | Pick up cake
My rooftop garden is getting out of hand. | Rooftop jobs | Garden job | Plant it | Tie up beans; Mend hose; Sow radish | Empty rain barrel
""",
    (
        '{why} Build me a to-do app: heading "{title}", a text field labelled "{label}" next to a button "{add}", and '
        "to begin with the tasks {items}. Every task has a checkbox, and I want to see how many are still open.",
        'to-do list please. title (as a heading) "{title}", starts with {items}, each with a checkbox. a text input '
        'labelled "{label}" plus a button "{add}" to put more on it, and somewhere the number of open tasks',
        '{why} Could you make a list app called "{title}" (put that in a heading)? It should hold {items} at the '
        'start, with a checkbox for each one. I add entries with a text field "{label}" and the button "{add}". Show '
        "a live count of open entries at the top.",
        'React component: task list.\n- heading "{title}"\n- initial tasks: {items}, each with a checkbox\n- text '
        'input with label "{label}", button "{add}" appends the text\n- counter of open tasks that follows along',
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["label"]),
        button(f["add"]),
        role("checkbox", min=3),
        text(f["second"]),
        typed(f["label"], f["new"], then=f["add"], role="checkbox", name=f["new"]),
        typed(f["label"], "One more", then=f["add"], changes="number"),
    ],
    (template("todo-app"),),
)

SEARCH = Family(
    "search-list",
    "why title label items* query gone",
    """
My tea shop has too many kinds to scroll through. | Loose teas | Find a tea | Assam; Sencha; Rooibos; Earl Grey; Jasmine pearls | ass | Sencha
We are a small museum with a catalogue. | Objects on show | Search the catalogue | Bronze lamp; Clay whistle; Silver comb; Iron key; Glass bead | comb | Iron key
I want to look up birds on my phone while I am outside. | Birds of the estuary | Bird name | Curlew; Redshank; Avocet; Grey heron; Dunlin | heron | Avocet
For the help desk. | Office phone book | Who are you looking for | Abel Ncube; Britt Olsen; Chen Wei; Dalia Haddad; Emil Roth | dalia | Chen Wei
I teach geography. | Rivers | Type a river | Mekong; Loire; Zambezi; Vistula; Parana | loi | Zambezi
Our climbing gym resets routes every month. | Routes in hall 2 | Filter routes | Purple slab; Yellow roof; Green crack; Black arete; Pink dyno | roof | Pink dyno
I collect vinyl. | Records on the shelf | Look for a record | Blue Harbour; Night Tram; Paper Moons; Velvet Radio; Northern Soup | tram | Paper Moons
For a seed library. | Seeds to borrow | Seed | Beetroot; Nasturtium; Broad bean; Sweet pea; Fennel | fen | Beetroot
We have a lot of meeting rooms with silly names. | Meeting rooms | Room finder | Aardvark; Bandicoot; Capybara; Dormouse; Echidna | capy | Aardvark
My son loves dinosaurs. | Dinosaur index | Dinosaur | Triceratops; Diplodocus; Iguanodon; Velociraptor; Ankylosaurus | igu | Diplodocus
I am a pharmacist and want a quick stock lookup. | Shelf lookup | Product | Cough syrup; Eye drops; Foot cream; Nose spray; Throat pastilles | eye | Foot cream
For our board game cafe. | Games you can play here | Which game | Harbour Lights; Dice Bakery; Snow Foxes; Tiny Kingdoms; Midnight Train | fox | Dice Bakery
Language students should find verbs fast. | Irregular verbs | Verb | Begin; Choose; Forget; Swim; Write | swi | Forget
A list of our hiking huts. | Mountain huts | Hut | Eagle Hut; Larch Cabin; Stone Refuge; Moon Shelter; Upper Lodge | larch | Stone Refuge
I maintain a park and get asked about the trees. | Trees in the park | Search trees | Copper beech; Ginkgo; Holm oak; Silver birch; Tulip tree | gink | Holm oak
""",
    (
        '{why} Make a searchable list headed "{title}" with {items}. A text input labelled "{label}" narrows it down '
        "while I type, ignoring upper and lower case.",
        'I need a list I can filter. Heading: "{title}". Entries: {items}. Above them a plain text field "{label}"; '
        "only the entries that contain what I typed stay visible.",
        '{why} So: a page with the heading "{title}", a text input with the label "{label}", and under it these '
        "entries as a list: {items}. Filter live. If nothing matches, say so.",
        'instant search component, heading "{title}", text input labelled "{label}", ul with {items}. non-matching '
        "ones disappear as you type",
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["label"]),
        role("listitem", min=5),
        *texts(f["items"][1:3]),
        typed(f["label"], f["query"], no_text=f["gone"]),
    ],
    (template("search-list"),),
)

VOTE = Family(
    "vote",
    "why title options**",
    """
Our team never agrees on lunch. | Lunch on Friday | Ramen / 4; Falafel / 6; Pizza / 5
The kids get to name the new hamster. | Name the hamster | Peanut / 3; Comet / 7; Mister Fluff / 2
We are picking a colour for the clubhouse. | Clubhouse door | Ochre / 11; Sea green / 9; Brick red / 14
I stream and want my viewers to choose. | What do I play next? | Space Farm / 21; Grim Castle / 18; Kart Zero / 33
For the allotment society. | Next shared tool | Shredder / 8; Wheelbarrow / 5; Chainsaw / 1
A tiny poll for my newsletter. | Best season to travel | Spring / 40; Autumn / 52; Winter / 13
Let guests vote on the first dance song. | First dance | Slow Tide / 12; Moonwaltz / 17; Disco Rain / 25
Our book group has three candidates. | Read in March | The Salt Road / 4; Winter Keys / 4; Ursula at Sea / 2
The choir needs a concert outfit. | Concert outfit | All black / 15; Blue scarves / 19; Red bow ties / 8
Designers in my company fight about icons. | Save icon of the future | Floppy / 9; Cloud / 16; Arrow / 12
Neighbours decide what to plant in the yard. | One new tree | Cherry / 10; Walnut / 6; Fig / 13
Quick retro tool for standups. | How was the sprint? | Smooth / 5; Bumpy / 7; Chaos / 3
We run an ice cream van. | Flavour of July | Pistachio / 28; Salted plum / 31; Vanilla / 30
For a film club of students. | Friday film | Robot Summer / 14; The Lighthouse Cat / 22; Fog / 9
The football parents must pick a date. | Summer party date | 5 July / 17; 12 July / 20; 19 July / 6
""",
    (
        '{why} Please build a voting widget. The heading is "{title}" and the choices with their votes so far are '
        '{options}. Each choice has a button "Vote for X" with its name in it (such as "Vote for {name}"), and below '
        'stands "Total votes: {total}".',
        'Poll component, heading "{title}". Options and current votes: {options}. One button per option, labelled '
        '"Vote for " plus the option, e.g. "Vote for {name}". Also show "Total votes: {total}" and keep it up to date.',
        '{why} I imagine three bars with the count beside each: {options}. A "Vote for {name}" button (same for the '
        'others) adds a vote. On top the heading "{title}", at the bottom "Total votes: {total}".',
    ),
    lambda f: [
        heading(f["title"]),
        *texts([option[0] for option in f["options"]]),
        role("button", "Vote for", min=3),
        text(f"Total votes: {f['total']}"),
        click(f"Vote for {f['name']}", text=f"Total votes: {f['total'] + 1}"),
        click(f"Vote for {f['name']}", number_delta=1),
    ],
    (template("vote"),),
    lambda f: {"name": f["options"][1][0], "total": sum(int(option[1]) for option in f["options"])},
)

COMMENTS = Family(
    "comments",
    "why title label post comments* new",
    """
I write a blog about bread. | Reader comments | Your comment | Post comment | The crust came out perfect; Mine needed ten more minutes | Can I use rye flour?
For a neighbourhood notice board. | Street talk | Say something | Pin it | The swing is fixed, thanks; Who lost a grey glove? | Found a bike lock
Our wedding site needs a guest book. | Guest book | Your wishes | Sign | You two are the best; What a lovely day | Dance like nobody watches
We share feedback on design drafts. | Draft 3 feedback | Remark | Leave remark | Love the spacing; Green is too loud | Try a serif font
Students should discuss each lecture. | Lecture 8 discussion | Your question | Ask | Is entropy on the exam?; Slide 12 has a typo | Where is the reading list
My photo site is missing something. | About this photo | Write a note | Publish note | Where was this taken?; Great light | Which lens was it
A hotel wants to show reviews. | What guests say | Review | Submit review | Quiet rooms, soft beds; Breakfast ends too early | Friendly night porter
For code reviews on tiny snippets. | Snippet 41 | Review comment | Add comment | Rename this variable; Nice use of reduce | Needs a test
Patch notes with feedback from players. | Patch 2.4 chatter | Message to the devs | Shout | The hammer is too strong; Thanks for the new map | Fix the frog level
For the parents of class 5C. | Class 5C wall | Your message | Put on the wall | Bus leaves at 7:40; Bring rain boots | Who has a spare tent?
Fans of our podcast are chatty. | Episode 77 | Thoughts | Send thoughts | That interview made me cry; More about whales please | Best intro music yet
My recipes get questions. | Questions about this stew | Question | Send it in | Can I freeze it?; Lamb or beef? | Does it need wine
Our museum collects memories of the old tram. | Tram memories | Your memory | Share memory | Grandma drove line 9; The bell was so loud | We skipped school on it
I need a comment box under my comic. | Strip of the week | Reaction | React | The cat is me; I spat out my tea | More of the penguin
Library users recommend books to each other. | Reader tips | Your tip | Recommend | Start with the short stories; Skip the foreword | Bring tissues
""",
    (
        '{why} Build a comment section with the heading "{title}". It already has two comments, {comments}, and shows '
        '"2 comments". Below is a text area labelled "{label}" and a "{post}" button which adds what I wrote.',
        'comment box: heading "{title}", existing comments {comments}, a line "2 comments" that counts up, textarea '
        'with label "{label}", button "{post}"',
        '{why} I would like a heading "{title}", a counter that reads "2 comments" at the start, the comments '
        '{comments} in a list, and a form with one text area ("{label}") and the button "{post}". Empty input should '
        "do nothing.",
        'Make something like the comments under a video. "{title}" as heading; {comments} are there from the start; '
        'the counter says "2 comments" and goes up; people write into "{label}" (a text area) and press "{post}".',
    ),
    lambda f: [
        heading(f["title"]),
        text("2 comments"),
        text(f["first"]),
        role("textbox", f["label"]),
        button(f["post"]),
        typed(f["label"], f["new"], then=f["post"], text="3 comments"),
        typed(f["label"], "Me again", then=f["post"], text="4 comments"),
    ],
    (template("comments"),),
)

NOTIFICATIONS = Family(
    "notifications",
    "why title items* dismiss clear empty",
    """
Our booking tool pings people about everything. | Notifications | Ana changed her booking; Room 4 is free again; Invoice 311 is overdue | Dismiss | Clear all | All caught up
For a smart home panel on the fridge. | House messages | Washing machine is done; Front door was open for 9 minutes; Solar made 12 kWh | Seen | Clear the board | Nothing to report
I am building a plant care app. | Thirsty plants | Fern needs water; Cactus wants sun; Basil is flowering | Done | Empty the list | Every plant is happy
A boat charter company needs this. | Harbour alerts | Storm warning for Tuesday; Boat 2 low on fuel; New charter request | Acknowledge | Silence everything | Calm seas
A simple inbox for teachers. | Messages from parents | Lina is ill today; Who teaches chess?; Lost jacket in room 8 | Archive | Clear inbox | Inbox zero
For a delivery start-up. | Courier feed | Parcel 88 was refused; Van 3 is late; Depot closes at six | Hide | Wipe the feed | No news is good news
We monitor servers and drown in alarms. | Alarms | Disk at 91%; Backup failed on ares; Certificate expires soon | Mute | Silence all | All systems quiet
My reading app sends too many nudges. | Nudges | You have not read since Sunday; New chapter by Ida Stern; Streak at risk | Skip | Leave me alone | Go read a book
For a coach and her swimmers. | Team updates | Pool opens late on Monday; New relay order; Bring your fins | Read it | Clear updates | You know it all
A hospital wants calm notifications. | Ward reminders | Visit for bed 2 at three; Lab result is in; Physio moved to Friday | Confirm | Clear reminders | No open reminders
It is for a farm with a lot of sensors. | Farm signals | Gate B is open; Tank below 20%; Frost expected at dawn | Close | Reset board | The farm is asleep
We are a co-working space. | Front desk | Parcel for desk 14; Coffee is out; Visitor at the door | Take care of it | Empty the desk | Desk is clear
An app for a chess league. | Your games | Your move against Otto; Draw offered by Sunniva; Game 19 was adjourned | Later | Put everything off | No games waiting
For our holiday home guests. | Good to know | Pool cleaning at ten; Market day tomorrow; Bins go out tonight | Got it | Clear notes | Enjoy the quiet
Photo contest jury members need a feed. | Jury feed | Twelve new photos; Deadline in two days; Marek left a remark | Tick off | Clear the feed | Jury may rest
""",
    (
        '{why} Make a notification panel, heading "{title}", with {items}. It says "3 unread". Each entry has a button '
        '"{dismiss}" that removes it and lowers the count, and one button "{clear}" empties the panel and shows '
        '"{empty}".',
        'A list of notifications, please. Heading "{title}", then "3 unread", then {items}, each with its own '
        '"{dismiss}" button. Under the list a "{clear}" button. When none are left: "{empty}".',
        '{why} The panel is headed "{title}" and starts with three messages: {items}. Clicking "{dismiss}" next to a '
        'message takes it away ("3 unread" becomes "2 unread" and so on). "{clear}" takes all of them away, then it '
        'reads "{empty}".',
    ),
    lambda f: [
        heading(f["title"]),
        text("3 unread"),
        *texts(f["items"][:2]),
        button(f["clear"]),
        click(f["dismiss"], text="2 unread"),
        click(f["clear"], text=f["empty"]),
    ],
    (template("notifications"),),
)

FAMILIES = (TODO_APP, SEARCH, VOTE, COMMENTS, NOTIFICATIONS)
