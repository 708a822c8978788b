"""Tiny tier: apps in which a click shows, hides or swaps something."""

from tasks.react_families.kit import Family, button, click, heading, text

TOGGLE_SHOW = Family(
    "toggle",
    "title button secret",
    """
What has keys but no locks? | Show answer | A piano
Movie night | Reveal the film | The Long Winter
Spoiler ahead | I want to know | The butler did it
Wifi for guests | Show password | bluekettle42
Word of the day | Tell me the meaning | Fond of books
Secret menu | Open the menu | Truffle fries
Capital of Peru | Check | Lima
Joke corner | Punchline please | It was two-tired
""",
    (
        'The heading "{title}" and a button "{button}" that reveals "{secret}".',
        'Show "{title}" as a heading. When I click "{button}", the text "{secret}" should appear below it.',
        'A little reveal card: title "{title}", button "{button}", and "{secret}" stays hidden until the button is '
        "clicked.",
    ),
    lambda f: [heading(f["title"]), button(f["button"]), click(f["button"], text=f["secret"])],
    (
        """
import { useState } from "react";

export default function Reveal() {
  const [open, setOpen] = useState(false);
  return (
    <div className="p-6">
      <h1>@title</h1>
      <button className="bg-@tone-200 p-2" onClick={() => setOpen(!open)}>@button</button>
      {open && <p>@secret</p>}
    </div>
  );
}
""",
    ),
)

TOGGLE_HIDE = Family(
    "toggle",
    "title button secret",
    """
Tip of the day | Hide tip | Water your plants in the morning
Today in the kitchen | Toggle special | Pumpkin soup with seeds
Live captions | Captions on or off | The speaker is walking on stage
Account balance | Hide amount | 3,480 euros
House rules | Fold the rules | No shoes on the sofa
Debug panel | Toggle log | All tests passed
Map of the fair | Toggle legend | Green dots are food stalls
Meeting notes | Collapse notes | Budget approved by everyone
""",
    (
        'Heading "{title}", the line "{secret}" and a button "{button}" which hides that line and brings it back.',
        'A panel titled "{title}" that says "{secret}". Clicking "{button}" hides the sentence, clicking again shows '
        "it.",
    ),
    lambda f: [
        heading(f["title"]),
        text(f["secret"]),
        button(f["button"]),
        click(f["button"], no_text=f["secret"]),
        click(f["button"], text=f["secret"]),
    ],
    (
        """
import { useState } from "react";

export default function Panel() {
  const [shown, setShown] = useState(true);
  return (
    <section className="p-6">
      <h2>@title</h2>
      {shown && <p>@secret</p>}
      <button className="border p-2" onClick={() => setShown(!shown)}>@button</button>
    </section>
  );
}
""",
    ),
)

FAQ = Family(
    "faq",
    "title question answer",
    """
Shipping | How long does delivery take? | Three to five working days
Hotel questions | Can I bring my dog? | Dogs are welcome in ground floor rooms
Membership | How do I cancel? | Write to us any time before the 20th
Before the race | Where do I park? | Behind the swimming pool
About the course | Do I need experience? | None at all
Returns | Who pays for postage? | We send you a prepaid label
Gym help | When are you open? | From six to midnight
Bike rental | Is a helmet included? | One with every bike
Our bakery | Is the bread vegan? | All of it except the brioche
Online banking | What if I lose my card? | Block it in the app at once
Campsite | Are fires allowed? | Only in the stone rings
Piano lessons | How often should I practise? | Fifteen minutes a day
Warranty | How many years do I get? | Two, or five if you register
Library card | What does it cost? | Nothing for residents
Vet clinic | Do you treat rabbits? | On Tuesdays and Fridays
""",
    (
        'An FAQ section headed "{title}" with one question, "{question}". It is a button; clicking it opens the answer '
        '"{answer}".',
        'Heading "{title}". A button "{question}" that shows "{answer}" underneath when pressed.',
        'FAQ item under the heading "{title}": I click on "{question}" (a button) and read "{answer}".',
    ),
    lambda f: [heading(f["title"]), button(f["question"]), click(f["question"], text=f["answer"])],
    (
        """
import { useState } from "react";

export default function Faq() {
  const [open, setOpen] = useState(false);
  return (
    <section className="p-6">
      <h2 className="text-xl">@title</h2>
      <button className="border-b" onClick={() => setOpen(!open)}>@question</button>
      {open && <p>@answer</p>}
    </section>
  );
}
""",
    ),
)

ALERT = Family(
    "alert",
    "message button",
    """
Your trial ends in three days. | Dismiss
New version available. | Got it
The pool is closed on Monday. | Okay
Payment failed, please try again. | Close
We use cookies to count visitors. | Accept
Strong winds expected tonight. | Hide warning
You have been logged out. | Understood
Free delivery this weekend. | No thanks
The lift on floor two is broken. | Noted
Your draft was saved. | Nice
Ticket sales open at noon. | Remind me never
Low disk space on drive C. | Ignore
Happy birthday, Tomas. | Thank you
The 8:15 train runs ten minutes late. | Clear
Remember to drink some water. | I just did
""",
    (
        'An alert box that says "{message}" and has a button "{button}" that makes the message disappear.',
        'Show a banner "{message}" at the top with a "{button}" button. Clicking it removes the banner.',
        'I need a notice with the text "{message}". The button "{button}" hides it.',
        'Yellow info bar: "{message}". It goes away when I press "{button}".',
    ),
    lambda f: [text(f["message"]), button(f["button"]), click(f["button"], no_text=f["message"])],
    (
        """
import { useState } from "react";

export default function Alert() {
  const [shown, setShown] = useState(true);
  if (!shown) return <p>No messages</p>;
  return (
    <div className="bg-amber-100 p-4">
      <p>@message</p>
      <button className="underline" onClick={() => setShown(false)}>@button</button>
    </div>
  );
}
""",
        """
import { useState } from "react";

export default function Banner() {
  const [open, setOpen] = useState(true);
  return (
    <div className="p-4">
      {open && <p className="bg-yellow-100 p-4">@message</p>}
      <button className="border" onClick={() => setOpen(false)}>@button</button>
    </div>
  );
}
""",
    ),
)

SWITCH = Family(
    "switch",
    "title before after button",
    """
Shop door | Closed for today | Come on in | Turn the sign
Reading lamp | It is dark | It is bright | Flip the switch
Theme | Light theme | Night theme | Change theme
Meeting room 3 | Free | Occupied | Change status
Alarm | Disarmed | Armed and watching | Use the key
Microphone | Muted | You are live | Toggle mic
Front gate | Bolted | Open for visitors | Press the remote
Aeroplane mode | Connected | Up in the air | Toggle radio
Coffee machine | Cold | Hot and ready | Power
Garden sprinkler | Dry | Spraying | Turn the tap
Taxi roof light | For hire | Busy | Switch the light
Language | Good morning | Buenos dias | Translate
Oven | Heating up | Cooling down | Touch the knob
Robot vacuum | Docked | Cleaning the hall | Send it
Doorbell | Quiet hours | Ringing allowed | Change mode
""",
    (
        'A status card headed "{title}" that reads "{before}". The button "{button}" changes it to "{after}" and back '
        "again.",
        'Heading "{title}" and the state "{before}"; clicking "{button}" swaps it for "{after}", another click swaps '
        "back.",
        '"{title}" as heading, then a line that switches between "{before}" (at first) and "{after}" with a button '
        '"{button}".',
    ),
    lambda f: [
        heading(f["title"]),
        text(f["before"]),
        button(f["button"]),
        click(f["button"], text=f["after"]),
        click(f["button"], text=f["before"]),
    ],
    (
        """
import { useState } from "react";

export default function Switch() {
  const [on, setOn] = useState(false);
  return (
    <div className="p-6">
      <h1 className="text-xl">@title</h1>
      <p>{on ? "@after" : "@before"}</p>
      <button className="border" onClick={() => setOn(!on)}>@button</button>
    </div>
  );
}
""",
        """
import { useState } from "react";

export default function Status() {
  const [on, setOn] = useState(false);
  return (
    <div className="p-6 text-center">
      <h2>@title</h2>
      <p>{on ? "@after" : "@before"}</p>
      <button className="border" onClick={() => setOn(!on)}>@button</button>
    </div>
  );
}
""",
    ),
)

TABS = Family(
    "tabs",
    "one first two second",
    """
About | We roast coffee in small batches | Visit | Find us at 12 Canal Street
Overview | A light tent for two people | Details | It weighs 1.8 kilos
Lunch | Lentil salad and bread | Dinner | Baked trout with potatoes
Monday | Leg day with squats | Thursday | Arms and shoulders
English | Thank you very much | French | Merci beaucoup
Income | You earned 2,100 this month | Spending | You spent 1,640 this month
Lyrics | Row gently down the stream | Chords | Mostly G and C
Student | Tickets cost six euros | Adult | Tickets cost eleven euros
Summer | Open until ten at night | Winter | Shut at five in the afternoon
Recipe | Mix, rest, fold and bake | Notes | Use cold butter
Morning | A walk along the harbour | Evening | Concert in the old church
Stairs | Faster for two floors | Elevator | Better with heavy bags
Inbox | Two unread letters | Archive | Everything before May
Cats | They sleep all day long | Dogs | They follow you everywhere
Front | A red door with a bell | Back | A patch of grass and a shed
""",
    (
        'Two tab buttons, "{one}" and "{two}". The first shows "{first}", the second "{second}". Start on the first.',
        'Small tab view with buttons "{one}" and "{two}": at first I see "{first}", and clicking "{two}" shows '
        '"{second}" instead.',
        'Make two buttons to switch text. "{one}" (selected at the start): "{first}". "{two}": "{second}".',
    ),
    lambda f: [
        button(f["one"]),
        button(f["two"]),
        text(f["first"]),
        click(f["two"], text=f["second"]),
        click(f["one"], text=f["first"]),
    ],
    (
        """
import { useState } from "react";

export default function Tabs() {
  const [first, setFirst] = useState(true);
  return (
    <div className="flex gap-4 p-6">
      <button onClick={() => setFirst(true)}>@one</button>
      <button onClick={() => setFirst(false)}>@two</button>
      <p>{first ? "@first" : "@second"}</p>
    </div>
  );
}
""",
    ),
)

FAMILIES = (TOGGLE_SHOW, TOGGLE_HIDE, FAQ, ALERT, SWITCH, TABS)
