"""Tiny tier: cards that present one thing, half of them with a button that answers."""

from tasks.react_families.kit import Family, button, click, heading, role, text, texts

PROFILE = Family(
    "profile",
    "name job place button",
    """
Lena Hoffmann | Bike mechanic | Freiburg | Follow
Omar Said | Night baker | Tunis | Say hello
Priya Nair | Marine biologist | Kochi | Connect
Jack Doyle | Session drummer | Cork | Book Jack
Mei Tanaka | Paper artist | Kyoto | See work
Carlos Vega | Ski instructor | Bariloche | Ask a question
Ingrid Moe | Tax adviser | Bergen | Make an appointment
Tunde Bello | Front-end developer | Lagos | Hire me
Rosa Martins | Fado singer | Porto | Listen
Viktor Novak | Clock maker | Brno | Write to Viktor
Hannah Weiss | School nurse | Basel | Call
Samir Patel | Food blogger | Leicester | Read the blog
Ana Kovac | Tour guide | Split | Plan a tour
Noah Brooks | Dog walker | Portland | Add friend
Yuki Mori | Game designer | Sapporo | View profile
""",
    (
        'A profile card for {name} (as heading), "{job}" from "{place}", with a "{button}" button.',
        'Make a profile card. The heading is "{name}", below it "{job}" and "{place}", and at the bottom a button '
        '"{button}".',
        'User card: name "{name}" in a heading, job "{job}", city "{place}", button "{button}".',
    ),
    lambda f: [heading(f["name"]), text(f["job"]), text(f["place"]), button(f["button"])],
    (
        """
export default function ProfileCard() {
  return (
    <div className="p-6 text-center">
      <h2 className="text-2xl">@name</h2>
      <p>@job</p>
      <p>@place</p>
      <button className="bg-@tone-200 p-2">@button</button>
    </div>
  );
}
""",
        """
export default function Profile() {
  return (
    <article className="p-6">
      <h1 className="text-2xl">@name</h1>
      <p>@job, @place</p>
      <button className="bg-@tone-200 p-2">@button</button>
    </article>
  );
}
""",
    ),
)

PRODUCT = Family(
    "product",
    "name price button after",
    """
Walnut desk | $420 | Add to cart | In your cart
Rain jacket | €89 | Buy | On its way
Cast iron pan | $35 | Put in basket | It is in the basket
Garden gnome | £12 | Adopt him | Adopted
Wireless mouse | $24.99 | Order now | Ordered
Olive soap | €4.50 | Take one | Yours
Used ukulele | $60 | Reserve | Kept for you
Bluebell seeds | £2.20 | Add a packet | Packet added
Camping stove | $54 | I want it | Saved to your list
Linen shirt | €45 | Add to bag | Added to bag
Moon globe | $75 | Wrap it up | Wrapped
Honey, 500 g | €9 | Add a jar | One jar added
Desk plant | $18 | Send it to me | We are packing it
Board game Harbor | £31 | Pre-order | Pre-ordered
Noise-free fan | $99 | Choose this | Chosen
""",
    (
        'Product card: heading "{name}", price "{price}" and a button "{button}". After a click it says "{after}".',
        'I sell one thing, so show "{name}" as a heading with "{price}" under it. Clicking "{button}" should display '
        '"{after}".',
        'A shop card for "{name}" (heading) at "{price}" with a "{button}" button that shows "{after}" once clicked.',
    ),
    lambda f: [heading(f["name"]), text(f["price"]), button(f["button"]), click(f["button"], text=f["after"])],
    (
        """
import { useState } from "react";

export default function Product() {
  const [added, setAdded] = useState(false);
  return (
    <div className="p-6">
      <h2>@name</h2>
      <p>@price</p>
      <button className="bg-@tone-200 p-2" onClick={() => setAdded(true)}>
        {added ? "@after" : "@button"}
      </button>
    </div>
  );
}
""",
    ),
)

STAT = Family(
    "stat",
    "label value note",
    """
Monthly revenue | $48,200 | Up 12% on last month
New sign-ups | 312 | 40 more than yesterday
Average wait | 7 min | Best week so far
Open tickets | 23 | Five are urgent
Steps today | 8,941 | Almost at your goal
Air quality | 42 | Good for a run
Unread mail | 118 | Oldest is from March
Energy used | 6.4 kWh | A quiet day
Return rate | 1.9% | Down from 2.6%
Active drivers | 57 | Nine on a break
Resting pulse | 61 bpm | Steady since Monday
Books lent | 1,204 | Mostly crime novels
Page speed | 0.8 s | Faster than 94% of sites
Eggs collected | 36 | Two hens are resting
Followers | 15.3k | Plus 230 this week
""",
    (
        'A stat tile with the heading "{label}", the figure "{value}" in large type and a small note "{note}".',
        'Dashboard tile: "{label}" as heading, then "{value}", then "{note}".',
        'Show one number nicely: heading "{label}", value "{value}", and below it in grey "{note}".',
        'I need a KPI card. Its heading is "{label}", it says "{value}" and, smaller, "{note}".',
    ),
    lambda f: [heading(f["label"]), text(f["value"]), text(f["note"])],
    (
        """
export default function StatTile() {
  return (
    <div className="bg-@tone-100 p-6">
      <h2 className="text-xl">@label</h2>
      <p className="text-4xl">@value</p>
      <p>@note</p>
    </div>
  );
}
""",
        """
export default function Stat() {
  return (
    <section className="p-6 text-center">
      <p className="text-3xl">@value</p>
      <h2 className="text-xl">@label</h2>
      <small>@note</small>
    </section>
  );
}
""",
    ),
)

QUOTE = Family(
    "quote",
    "title quote author",
    """
Thought for today | A small door is still a door | Mina Aalto
On the fridge | Soup first, plans later | Grandma Ruth
From our founder | We ship when it is kind to ship | Theo Lang
Coach says | Slow feet, quick eyes | Marta Ruiz
Wall of wisdom | Nobody trips over a mountain they can see | Idris Okoye
Reader of the week | I finished it on the bus and missed my stop | Paula S.
Overheard | The printer can smell fear | Office 214
Studio motto | Sand it once more | Bo Lindqvist
Customer voice | My roses have never looked so smug | Gwen Parry
Notebook, page 9 | Ask the river, then ask again | Kenji Abe
Night shift | Stars do not need a schedule | Nurse Adele
Kitchen rule | Salt early and taste often | Chef Bruno
Teacher to class | A wrong answer is a map | Mr. Farouk
Postcard | The sea says hello back | Aunt Lily
First line | It rained upwards that morning | Dora Stein
""",
    (
        'A quote block headed "{title}": "{quote}", and under it the name "{author}".',
        'Heading "{title}", the quote "{quote}" in italics, signed "{author}".',
        'Please show this quote in a nice card with the heading "{title}". The words: "{quote}". Said by "{author}".',
    ),
    lambda f: [heading(f["title"]), text(f["quote"]), text(f["author"])],
    (
        """
export default function Quote() {
  return (
    <figure className="border-l-4 p-6">
      <h2 className="text-xl">@title</h2>
      <blockquote className="italic">@quote</blockquote>
      <figcaption>@author</figcaption>
    </figure>
  );
}
""",
        """
export default function QuoteCard() {
  return (
    <div className="bg-@tone-50 p-8 text-center">
      <h1>@title</h1>
      <p className="text-2xl">@quote</p>
      <p>@author</p>
    </div>
  );
}
""",
    ),
)

PLAN = Family(
    "plan",
    "name price features* button",
    """
Starter | $9 a month | One project; Email help | Choose Starter
Team | $29 a month | Ten seats; Shared folders | Start with Team
Solo gym | €19 a month | Off-peak entry; One locker | Join Solo
Family pass | £75 a year | Two adults; Three children | Get the pass
Basic hosting | $4 a month | One site; Daily backup | Host with Basic
Studio | €49 a month | Unlimited exports; Priority chat | Upgrade to Studio
Weekly veg box | £16 a week | Seven vegetables; Recipe card | Order the box
Day ticket | €12 | All slides; Towel included | Buy day ticket
Pro reader | $7 a month | No ads; Offline mode | Go Pro
School licence | $300 a year | All classrooms; Teacher guide | Ask for a licence
Cloud 100 | €2 a month | 100 GB storage; Photo sync | Pick Cloud 100
Car wash club | $25 a month | Weekly wash; Free wax | Join the club
Night owl | $11 a month | Access after nine; Free coffee | Become an owl
Language lite | €6 a month | Two languages; Daily quiz | Try Lite
Repair cover | £5 a month | Spare parts; Home visit | Add cover
""",
    (
        'A pricing card: heading "{name}", price "{price}", a list with {features}, and a button "{button}".',
        'Pricing plan "{name}" (heading) for "{price}". List {features}. Button: "{button}".',
        'Show the plan "{name}" with its name as the heading, "{price}", the bullet points {features} and a '
        '"{button}" button.',
    ),
    lambda f: [
        heading(f["name"]),
        text(f["price"]),
        role("listitem", min=2, max=2),
        text(f["first"]),
        button(f["button"]),
    ],
    (
        """
export default function Plan() {
  const features = @features;
  return (
    <div className="p-6">
      <h2 className="text-xl">@name</h2>
      <p>@price</p>
      <ul>{features.map((f) => <li key={f}>{f}</li>)}</ul>
      <button className="border p-2">@button</button>
    </div>
  );
}
""",
    ),
)

WEATHER = Family(
    "weather",
    "city now sky button later",
    """
Oslo | -4° | Light snow | Tomorrow | Clear and -9°
Nairobi | 24° | Sunny spells | Tonight | Mild with a breeze
Glasgow | 11° | Drizzle | Next hour | Heavy showers
Phoenix | 41° | Cloudless | Weekend | Still over 40°
Hanoi | 29° | Thunder | This evening | Storm moves east
Wellington | 15° | Gusty | After lunch | Gale warning
Madrid | 33° | Hazy | At midnight | Down to 21°
Reykjavik | 6° | Grey and calm | On Friday | Sleet from the west
Mumbai | 31° | Humid | Look ahead | Monsoon rain
Quebec | -12° | Ice fog | Later today | Sun breaks through
Athens | 27° | Fair | In two days | Dust from the south
Lima | 19° | Overcast | Forecast | Low cloud all week
Cape Town | 22° | Bright | By sunset | Wind drops
Tallinn | 2° | Wet snow | Sunday | Frost and stars
Kyoto | 17° | Cherry blossom weather | Overnight | A passing shower
""",
    (
        'Weather card with "{city}" as heading, "{now}" and "{sky}". A button "{button}" adds the line "{later}".',
        'Heading "{city}", then "{now}" big and "{sky}" small. When I press "{button}" show "{later}".',
        'I want the weather for "{city}" (heading): "{now}", "{sky}". The "{button}" button reveals "{later}".',
    ),
    lambda f: [
        heading(f["city"]),
        text(f["now"]),
        text(f["sky"]),
        button(f["button"]),
        click(f["button"], text=f["later"]),
    ],
    (
        """
import { useState } from "react";

export default function Weather() {
  const [later, setLater] = useState(false);
  return (
    <div className="p-6">
      <h2>@city</h2>
      <p>@now</p>
      <p>@sky</p>
      <button className="border" onClick={() => setLater(true)}>@button</button>
      {later && <b>@later</b>}
    </div>
  );
}
""",
    ),
)

EVENT = Family(
    "event",
    "title when place button after",
    """
Harbour jazz | 14 June, 20:00 | Pier 7 | I am coming | See you there
Pottery for beginners | Saturday at ten | Room B2 | Sign me up | You have a seat
Repair cafe | 3 March | Old fire station | Save the date | Saved
Book club | Tuesday evening | Chapel garden | RSVP | You are on the list
Startup breakfast | 8:30 on Friday | Level 12 | Join | Coffee is waiting
Full moon hike | 22 August | North car park | Count me in | Bring a torch
School fair | Sunday, noon | Sports field | We will help | Thanks for helping
Vinyl swap | 5 October | Basement bar | Remind me | Reminder set
Community choir | Every Monday | Town hall | Sing along | Your voice is counted
Chili contest | 19 July | Market square | Enter | Good luck
Blood donation | Thursday, 9 to 4 | Red tent | Book a slot | Slot booked
Open mic | First of May | Cafe Luna | Take the stage | You are number six
Robotics demo | 2 p.m. today | Lab 31 | Watch live | Stream starts soon
Lantern walk | 11 November | Mill pond | Bring a lantern | We kept a candle for you
Street chess | All afternoon | Station steps | Play | Find a board
""",
    (
        'Event card: heading "{title}", "{when}", "{place}", and a button "{button}" that answers "{after}".',
        'Announce "{title}" (make it the heading) on "{when}" at "{place}". Clicking "{button}" shows "{after}".',
        'A card for an event called "{title}" with that heading, the time "{when}", the place "{place}" and a '
        '"{button}" button; after the click it says "{after}".',
    ),
    lambda f: [
        heading(f["title"]),
        text(f["when"]),
        text(f["place"]),
        button(f["button"]),
        click(f["button"], text=f["after"]),
    ],
    (
        """
import { useState } from "react";

export default function Event() {
  const [going, setGoing] = useState(false);
  return (
    <article className="p-6">
      <h2>@title</h2>
      <p>@when, @place</p>
      <button className="border" onClick={() => setGoing(true)}>@button</button>
      {going && <p>@after</p>}
    </article>
  );
}
""",
        """
import { useState } from "react";

export default function EventCard() {
  const [going, setGoing] = useState(false);
  return (
    <div className="p-6">
      <h1>@title</h1>
      <p>@when</p>
      <p>@place</p>
      {going ? <b>@after</b> : <button className="border" onClick={() => setGoing(true)}>@button</button>}
    </div>
  );
}
""",
    ),
)

BADGES = Family(
    "badges",
    "title badges*",
    """
My skills | Python; Welding; Public speaking
Diet | Vegan; Nut free; Low salt
Trail info | Steep; Shady; Dogs allowed
Film tags | Comedy; Family; 96 minutes
Issue labels | bug; help wanted; good first issue
Room features | Sea view; Balcony; Quiet side
Wine notes | Cherry; Smoke; Dry finish
Languages spoken | Polish; Dutch; Swahili
Status | Online; Verified; Moderator
Fabric | Cotton; Washable; Made in Portugal
Achievements | First win; Night rider; Collector
Job ad | Remote; Part time; No weekends
Plant care | Half shade; Little water; Frost hardy
Playlist mood | Mellow; Rainy day; Acoustic
Camera | Waterproof; 4K video; Light
""",
    (
        'A row of badges under the heading "{title}": {badges}.',
        'Heading "{title}" followed by three rounded tags {badges}.',
        'Show {badges} as little coloured pills, with the heading "{title}" above them.',
    ),
    lambda f: [heading(f["title"]), *texts(f["badges"])],
    (
        """
export default function Badges() {
  const tags = @badges;
  return (
    <div className="p-6">
      <h2 className="text-xl">@title</h2>
      {tags.map((tag) => (
        <span key={tag} className="m-1 bg-@tone-200 px-2">{tag}</span>
      ))}
    </div>
  );
}
""",
    ),
)

FAMILIES = (PROFILE, PRODUCT, STAT, QUOTE, PLAN, WEATHER, EVENT, BADGES)
