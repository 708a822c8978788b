"""App tier: quizzes, players, idle games and flash cards."""

# ruff: noqa: E501  (tables of facts)

from tasks.react_families.kit import Family, button, click, heading, role, template, text

TRIVIA = Family(
    "trivia",
    "why title questions** start next again",
    """
Quiz evening at our library, two questions to test the idea. | Library trivia | Who lives in a burrow? / Badger / Stork / Trout; What do owls hunt at night? / Mice / Apples / Clouds | Start quiz | Next question | Play again
A chemistry teacher wants a warm-up. | Warm-up | Symbol of gold? / Au / Ag / Go; Most common gas in air? / Nitrogen / Oxygen / Helium | Begin | Continue | Restart
For a train company's kids page. | Rails and rolls | What do trains run on? / Rails / Ropes / Roads; Who checks tickets? / Conductor / Captain / Cook | All aboard | Next station | Ride again
Onboarding quiz on data protection. | Privacy check | Where do you store passwords? / In the vault / On a note / In a mail; Who may see salaries? / HR only / Everyone / Your team | Take the quiz | Next one | Once more
We teach kids about vegetables. | Veggie quiz | Which grows underground? / Carrot / Pea / Plum; Which one is a fruit? / Tomato / Leek / Kale | Dig in | Next bite | Eat again
Film buffs, our cinema foyer. | Foyer film quiz | Who wakes up in a forest? / The gardener / The pilot / The twins; Where does Fog end? / At sea / In court / In bed | Lights off | Next reel | Rewind
Football club anniversary. | Club history | When was the club founded? / 1911 / 1921 / 1931; What was our first colour? / Lilac / Red / Brown | Kick off | Second half | Rematch
Basic first aid for drivers. | First aid | What comes first? / Stay safe / Take photos / Call home; How do you warn others? / Triangle / Shouting / Running | I am ready | Go on | From the top
A brewery tour ends with a quiz. | Brewery quiz | What makes beer bitter? / Hops / Malt / Yeast; What makes it bubble? / Yeast at work / Salt / Hot water | Pour one | Next round | Refill
Astronomy for absolute beginners. | Sky basics | Nearest star? / The sun / Sirius / Vega; What causes tides? / The moon / Wind / Whales | Look up | Next star | New night
For German learners: articles. | Der, die, das | Which article has Tisch? / der / die / das; Which article has Sonne? / die / der / das | Los | Weiter | Noch einmal
A bank explains saving to teenagers. | Money basics | What grows savings? / Interest / Debt / Luck; What is a budget? / A plan / A loan / A tax | Count me in | Next coin | Earn again
Local history for the tourist office. | Know this town? | What stood on the hill? / A windmill / A prison / A harbour; Who built the bridge? / Monks / Sailors / Romans | Walk in | Next corner | Another walk
Ergonomics at work, two questions. | Sit well | Where should the screen be? / At eye level / On the floor / Behind you; How often should you stand up? / Every hour / Never / At lunch | Sit down | Next posture | Stand up and repeat
Dog owners' licence, test version. | Dog licence | What does a wagging tail mean? / Excitement / Hunger / Sleep; Can dogs eat chocolate? / No / Yes / Only dark | Fetch | Next stick | Fetch again
""",
    (
        '{why} Make a quiz app. A start screen with the heading "{title}" and a button "{start}"; then '
        '"Question 1 of 2" and so on. Questions, in brackets the answers with the right one first (please mix the '
        'order): {questions}. Answers are buttons, "Score: 0" counts right ones, "{next}" goes on, at the end a button '
        '"{again}".',
        'Quiz with start screen. heading "{title}", button "{start}". two questions, answers as buttons, the first in '
        'brackets is correct but should not always stand first: {questions}. Show "Question 1 of 2" and "Score: 0" '
        'while playing, button "{next}" after answering, final screen with "{again}".',
        '{why} It should begin with just "{title}" as a heading and a "{start}" button. After that comes one question '
        "at a time: {questions} (the correct answer is the first one in brackets; mix the buttons up). I want to see "
        '"Question 1 of 2" and "Score: 0" all the time. Once answered, "{next}" leads to the next question. The last '
        'screen shows the score and a button "{again}".',
    ),
    lambda f: [
        heading(f["title"]),
        button(f["start"]),
        click(f["start"], text="Question 1 of 2"),
        click(f["questions"][0][1], text="Score: 1"),
        click(f["next"], text="Question 2 of 2"),
        click(f["questions"][1][1], text="Score: 2"),
    ],
    (template("trivia"),),
)

PLAYER = Family(
    "player",
    "why title tracks* play pause forward back",
    """
A landing page for our demo tape. | Demo tape | Kitchen Light; Slow Bus; Goodbye, Henry | Play | Pause | Next track | Previous track
My podcast needs a web player, fake audio is fine. | Salt and Pepper Radio | Pilot; The onion affair; Live from a fridge | Listen | Hold | Next episode | Episode before
Lullabies for a baby monitor. | Lullabies | Moon boat; Sleepy fox; Rain on tin | Sing | Hush | Next lullaby | Last lullaby
Audio guide through a cathedral. | Cathedral guide | The west door; The blue window; The crypt | Start guide | Wait | Next stop | Stop before
A meditation player, nothing flashy. | Calm minutes | Breathing; Body scan; Open sky | Begin | Break | Next session | Earlier session
Party playlist on a tablet at the bar. | Bar playlist | Neon Knees; Tango for Two Cats; Last Call | Make noise | Make silence | Skip | Rewind
Our school radio. | School radio | Morning news; Interview with the caretaker; Song of 8A | On air | Off air | Next piece | Piece before
Bird calls for a nature reserve. | Bird calls | Nightingale; Bittern; Corncrake | Hear it | Quiet | Next bird | Previous bird
An audiobook player with chapters. | The Tin Lighthouse | Chapter one; Chapter two; Chapter three | Read to me | Bookmark | Next chapter | Chapter back
Workout mixes. | Workout mixes | Warm-up beats; Sprint hour; Cool down | Go | Breathe | Next mix | Mix before
For language labs: short dialogues. | Dialogues | At the market; On the phone; Lost luggage | Play dialogue | Stop dialogue | Next dialogue | Previous dialogue
A jukebox for a diner website. | Diner jukebox | Milkshake Blues; Route Nine; Cherry Pie Waltz | Insert coin | Pull plug | Next single | Flip back
Sounds that help my dog during fireworks. | Dog calm | River; Soft piano; Vacuum cleaner | Soothe | Enough | Next sound | Sound before
Choir practice tracks by voice. | Practice tracks | Soprano; Alto; Bass | Sing along | Rest | Next voice | Voice before
White noise for a co-working space. | Noise | Cafe murmur; Train ride; Forest wind | Noise on | Noise off | Next noise | Noise before
""",
    (
        '{why} Build a music player without real sound. Heading "{title}", the list {tracks}, and '
        '"Now playing: {first}". The button "{play}" turns into "{pause}" while playing; "{forward}" and "{back}" '
        "change the title.",
        'Player UI (no audio). heading "{title}". playlist as a list: {tracks}. line "Now playing: {first}". buttons '
        '"{back}", "{play}" (becomes "{pause}"), "{forward}". wraps around at the ends.',
        '{why} There is no audio yet, just the interface: the heading "{title}", an ordered list with {tracks}, a big '
        '"Now playing: {first}" and three buttons, "{back}", "{play}" and "{forward}". When it plays, "{play}" reads '
        '"{pause}". Highlight the current entry in the list.',
    ),
    lambda f: [
        heading(f["title"]),
        role("listitem", min=3),
        text(f"Now playing: {f['first']}"),
        button(f["forward"]),
        click(f["play"], role="button", name=f["pause"]),
        click(f["forward"], text=f"Now playing: {f['second']}"),
        click(f["back"], text=f"Now playing: {f['first']}"),
    ],
    (template("player"),),
)

IDLE = Family(
    "idle-game",
    "why title stuff dig upgrade",
    """
I want to understand idle games by looking at one. | Gold mine | Gold | Dig | Buy a better pickaxe
A joke for our cookie company. | Cookie press | Cookies | Press dough | Bigger press
For our allotment society's website. | Potato tycoon | Potatoes | Harvest | Buy a spade
Space themed idle game, very small. | Dust collector | Stardust | Collect | Wider net
My son learns React and likes dragons. | Dragon hoard | Coins | Steal a coin | Train the dragon
A clicker about coffee for the office wall. | Espresso empire | Espressos | Pull a shot | Second grinder
Fishing game for a bored afternoon. | Lazy fisher | Fish | Cast the line | Stronger rod
A parody: emails instead of gold. | Inbox hero | Emails | Answer one | Hire an intern
For a bee museum. | Busy hive | Nectar | Visit a flower | Grow wings
A clicker game for the knitting crowd. | Sock factory | Socks | Knit | Faster needles
Something silly for our 404 page. | Broken link farm | Links | Break a link | Larger hammer
Idle game in a haunted house. | Ghost counter | Ghosts | Scare | Louder chains
Recycling, but as a game for pupils. | Bottle bank | Bottles | Collect bottle | Get a trolley
Winter special for a ski shop. | Snowball stand | Snowballs | Roll one | Warm gloves
A tiny lumberjack game. | Lumberjack | Logs | Chop | Sharpen the axe
""",
    (
        '{why} Make a clicker game: heading "{title}", "{stuff}: 0" and "Per click: 1". The button "{dig}" adds as many '
        'as one gets per click. The button "{upgrade}" costs 3 and raises that by one.',
        'Idle clicker. heading "{title}", counters "{stuff}: 0" and "Per click: 1". button "{dig}" adds the per-click '
        'amount. button "{upgrade}": price 3, per click +1, does nothing if one cannot pay.',
        '{why} The rules: with "{dig}" I earn, first one at a time. The page shows "{stuff}: 0" and "Per click: 1". '
        'With 3 in hand I can press "{upgrade}", which takes those 3 and makes every click worth one more. "{title}" '
        "goes on top as a heading, and I would like it colourful.",
    ),
    lambda f: [
        heading(f["title"]),
        text(f"{f['stuff']}: 0"),
        text("Per click: 1"),
        button(f["upgrade"]),
        click(f["dig"], text=f"{f['stuff']}: 1"),
        click(f["dig"], text=f"{f['stuff']}: 2"),
        click(f["dig"], text=f"{f['stuff']}: 3"),
        click(f["upgrade"], text="Per click: 2"),
    ],
    (template("idle-game"),),
)

FLASHCARDS = Family(
    "flashcards",
    "why title cards** show knew again",
    """
Finnish for my next holiday. | Finnish cards | kala / fish; leipä / bread; kissa / cat | Show meaning | I knew it | Not yet
Medical students cram bones. | Bones of the arm | Upper arm / Humerus; Thumb side / Radius; Little finger side / Ulna | Show bone | Knew that | Repeat
For a sailing licence. | Knots and lights | Port light / Red; Starboard light / Green; Stern light / White | Show answer | Got it right | Got it wrong
Flags quiz for a geography fan. | Flags in words | Red circle on white / Japan; Maple leaf / Canada; White cross on red / Switzerland | Which country? | Easy | Hard
My daughter learns her times tables. | Times tables | 7 times 8 / 56; 6 times 9 / 54; 12 times 4 / 48 | Reveal | Right | Wrong
Interview preparation for developers. | Short interview cards | What does DNS do? / Turns names into addresses; What is a hash? / A fingerprint of data; What is latency? / The time until an answer | Turn over | Said it | Missed it
Wine tasting vocabulary. | Wine words | Smells of cork / Corked; Dry mouth feeling / Tannin; Long after-taste / Finish | Pour the word | Tasted it | Spit it out
A church organist memorises registers. | Organ stops | Soft flute / Gedackt; Bright mixture / Scharff; Deep reed / Posaune | Pull the stop | Mastered | Unknown
Bird songs, described in words. | Bird songs | A squeaky wheel / Great tit; A falling laugh / Green woodpecker; Two notes / Cuckoo | Who sings? | Heard it | No idea
For a driving school, braking distances and so on. | Driving numbers | Town limit / 50; Distance at 100 / 50 metres; Dipped headlights see / 40 metres | Flip | Certain | Unsure
Greek letters for physics class. | Greek letters | λ / Lambda; ω / Omega; ρ / Rho | Name it | Of course | Oh no
Kitchen conversions. | Kitchen numbers | One cup of flour / 120 grams; One stick of butter / 113 grams; A pinch / Less than a gram | Convert | Knew the weight | Guessed
Trees in winter, by their buds. | Winter buds | Black buds / Ash; Sticky buds / Horse chestnut; Cigar buds / Beech | Which tree? | Recognised | Missed
History dates for an exam. | Dates | First moon landing / 1969; Fall of the Berlin Wall / 1989; French Revolution / 1789 | Tell the year | Remembered | Forgot
Our new staff learns table numbers and dishes. | Menu drill | Dish 12 / Squid risotto; Dish 20 / Beet tartare; Dish 31 / Fig tart | Serve the answer | Served | Sent back
""",
    (
        '{why} Build flash cards with the heading "{title}": {cards}, the back in brackets. Show "Card 1 of 3" and the '
        'front; "{show}" uncovers the back. "{knew}" counts up "Known: 0" and goes to the next card, "{again}" only '
        "goes on.",
        'Flash card trainer. heading "{title}". cards (front, back in brackets): {cards}. UI: "Card 1 of 3", the '
        'front, button "{show}" for the back, button "{knew}" ("Known: 0" goes up, next card), button "{again}" '
        "(next card, no point).",
        "{why} One card at a time, from this pile: {cards} (what is in brackets is on the back). The heading is "
        '"{title}"; under it "Card 1 of 3" and "Known: 0". I read the front, press "{show}" to see the back, and then '
        'either "{knew}", which gives a point and takes me to the next card, or "{again}", which just takes me there.',
    ),
    lambda f: [
        heading(f["title"]),
        text("Card 1 of 3"),
        text(f["cards"][0][0]),
        button(f["again"]),
        click(f["show"], text=f["cards"][0][1]),
        click(f["knew"], text="Known: 1"),
        click(f["again"], text="Card 3 of 3"),
    ],
    (template("flashcards"),),
)

FAMILIES = (TRIVIA, PLAYER, IDLE, FLASHCARDS)
