"""Tiny tier: apps in which a number goes up or down, and a state that changes."""

from tasks.react_families.kit import Family, button, click, heading, role, text

COUNTER = Family(
    "counter",
    "title start button does code delta",
    """
Cups of tea | 4 | Pour one | adds one | count + 1 | 1
Laps swum | 12 | Another lap | adds one | count + 1 | 1
Guests inside | 30 | Let one in | adds one | count + 1 | 1
Pages read | 85 | Read ten more | adds ten | count + 10 | 10
Lives left | 9 | Lose a life | takes one away | count - 1 | -1
Birds spotted | 0 | Spotted one | adds one | count + 1 | 1
Push-ups today | 20 | Five more | adds five | count + 5 | 5
Seats free | 48 | Sell a seat | takes one away | count - 1 | -1
Coins in the jar | 150 | Drop a coin | adds one | count + 1 | 1
Days without sugar | 6 | Made it | adds one | count + 1 | 1
Cookies remaining | 24 | Eat a cookie | takes one away | count - 1 | -1
Glasses of water | 2 | Drink | adds one | count + 1 | 1
Rows knitted | 61 | Finish a row | adds one | count + 1 | 1
Floor | 3 | Go up | adds one | count + 1 | 1
Volume | 40 | Louder | adds ten | count + 10 | 10
Sheep | 7 | Count a sheep | adds one | count + 1 | 1
Parking spots | 16 | Car arrives | takes one away | count - 1 | -1
Minutes meditated | 15 | Sit longer | adds five | count + 5 | 5
""",
    (
        'A counter titled "{title}" that starts at {start}, with a button "{button}" that {does}.',
        'Make me a simple counter. Heading "{title}", the number {start}, and a "{button}" button that {does}.',
        'I want to keep track of something: a heading "{title}", a count which begins at {start}, and a button '
        '"{button}". Each click {does}.',
        'Counter app: title "{title}", start value {start}, one button labelled "{button}" ({does}).',
        'Show the number {start} under the heading "{title}". Pressing "{button}" {does}.',
    ),
    lambda f: [
        heading(f["title"]),
        text(f["start"]),
        button(f["button"]),
        click(f["button"], number_delta=int(f["delta"])),
    ],
    (
        """
import { useState } from "react";

export default function Counter() {
  const [count, setCount] = useState(@start);
  return (
    <div className="p-6">
      <h1>@title</h1>
      <p className="text-2xl">{count}</p>
      <button className="bg-@tone-200" onClick={() => setCount(@code)}>@button</button>
    </div>
  );
}
""",
        """
import { useState } from "react";

export default function Counter() {
  const [count, setCount] = useState(@start);
  return (
    <main className="p-8 text-center">
      <h1>@title</h1>
      <p className="text-4xl">{count}</p>
      <button className="border p-2" onClick={() => setCount(@code)}>@button</button>
    </main>
  );
}
""",
    ),
)

LIKE = Family(
    "like",
    "title count noun button",
    """
Sunset over Lisbon | 128 | likes | Like
My first sourdough | 41 | hearts | Love it
Puppy learns to swim | 902 | thumbs up | Thumbs up
Five tips for better sleep | 17 | claps | Clap
Add a dark mode | 63 | votes | Vote
Grandma tries virtual reality | 350 | laughs | Haha
How I fixed my bike | 8 | upvotes | Upvote
Autumn in the park | 77 | stars | Star
Our new album is out | 1200 | fans | Become a fan
Longer library hours | 214 | supporters | Support
Street food in Hanoi | 56 | recommendations | Recommend
A drawing of my cat | 5 | smiles | Smile
Team photo 2024 | 33 | cheers | Cheer
Notes on clean code | 99 | bookmarks | Bookmark
The longest goal ever | 640 | replays | Replay
""",
    (
        'A post card with the heading "{title}", "{count} {noun}" below it and a button "{button}" that adds one.',
        'I need a small reaction widget for a post called "{title}" (as heading). It shows "{count} {noun}" and the '
        '"{button}" button raises that by 1.',
        'Heading "{title}", then "{count} {noun}", then a button "{button}". Clicking it counts one more.',
        'Build a card for "{title}" with its title as a heading. Display "{count} {noun}"; every click on "{button}" '
        "increases it by one.",
    ),
    lambda f: [
        heading(f["title"]),
        text(f"{f['count']} {f['noun']}"),
        button(f["button"]),
        click(f["button"], number_delta=1),
    ],
    (
        """
import { useState } from "react";

export default function Post() {
  const [count, setCount] = useState(@count);
  return (
    <article className="p-6">
      <h2 className="text-xl">@title</h2>
      <p>{count} @noun</p>
      <button className="border p-2" onClick={() => setCount(count + 1)}>@button</button>
    </article>
  );
}
""",
        """
import { useState } from "react";

export default function LikeButton() {
  const [likes, setLikes] = useState(@count);
  return (
    <div className="bg-@tone-100 p-6">
      <h2>@title</h2>
      <p>{likes} @noun</p>
      <button className="bg-white p-2" onClick={() => setLikes(likes + 1)}>@button</button>
    </div>
  );
}
""",
    ),
)

PROGRESS = Family(
    "progress",
    "title start step button",
    """
Uploading photos | 40 | 10 | Upload more
Course progress | 25 | 5 | Finish a lesson
Battery | 60 | 20 | Charge
Moving boxes packed | 10 | 10 | Pack a box
Savings goal | 35 | 5 | Save a little
Level 4 | 70 | 10 | Gain points
Painting the fence | 0 | 25 | Paint a side
Thesis draft | 55 | 5 | Write a page
Reading challenge | 20 | 10 | Close a book
Water tank | 15 | 15 | Fill it up
Profile completed | 80 | 10 | Add a detail
Marathon training | 30 | 10 | Log a run
Bug fixes | 45 | 5 | Fix a bug
Garden weeded | 50 | 25 | Pull weeds
Fundraiser | 65 | 5 | Donate
""",
    (
        'A progress bar called "{title}" (heading) at {start}%, with the percentage written out and a button '
        '"{button}" that adds {step}.',
        'Heading "{title}", a progress bar, the text "{start}%" and a "{button}" button which moves it {step} further.',
        'Show how far along "{title}" is: use that as heading, with a progress bar and "{start}%". "{button}" '
        "increases it by {step}.",
        'I want a progress bar titled "{title}" that starts at "{start}%" and grows by {step} when I press "{button}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("progressbar"),
        text(f"{f['start']}%"),
        button(f["button"]),
        click(f["button"], number_delta=int(f["step"])),
    ],
    (
        """
import { useState } from "react";

export default function Progress() {
  const [done, setDone] = useState(@start);
  return (
    <div className="p-6">
      <h1>@title</h1>
      <progress max="100" value={done} />
      <p>{done}%</p>
      <button className="border" onClick={() => setDone(done + @step)}>@button</button>
    </div>
  );
}
""",
    ),
)

SCORE = Family(
    "score",
    "title one two",
    """
Friday football | Lions | Tigers
Chess night | White | Black
Table tennis | Amira | Jonas
Spelling contest | Red team | Blue team
Board game evening | Mum | Dad
Pub darts | Locals | Guests
School quiz | Elm house | Oak house
Basketball | Hawks | Bears
Penalty shootout | Home | Away
Snowball fight | Left side | Right side
Cats versus dogs | Cats | Dogs
Card game | Nora | Felix
Robot battle | Bolt | Sparky
Beach volleyball | Sharks | Crabs
Bake sale | Cakes | Pies
""",
    (
        'A scoreboard headed "{title}" with two buttons, "{one}" and "{two}". Each shows its own score from 0 and '
        "adds a point when clicked.",
        'Keep score for "{title}" (use it as the heading): a button for "{one}" and a button for "{two}", both at 0, '
        "one point per click.",
        'Heading "{title}". Below, two buttons that count their clicks: "{one}" and "{two}", starting at 0.',
    ),
    lambda f: [
        heading(f["title"]),
        button(f["one"]),
        button(f["two"]),
        click(f["one"], number_delta=1),
        click(f["two"], number_delta=1),
    ],
    (
        """
import { useState } from "react";

export default function Score() {
  const [a, setA] = useState(0);
  const [b, setB] = useState(0);
  return (
    <div className="flex gap-4 p-6">
      <h1>@title</h1>
      <button onClick={() => setA(a + 1)}>@one {a}</button>
      <button onClick={() => setB(b + 1)}>@two {b}</button>
    </div>
  );
}
""",
    ),
)

TIMER = Family(
    "timer",
    "title time button after",
    """
Focus time | 25:00 | Begin | Pause
Soft-boiled egg | 06:30 | Drop it in | Take it out
Plank | 01:00 | Go | Rest
Power nap | 20:00 | Lights out | Wake up
Pizza in the oven | 12:00 | Bake | Check it
Speech practice | 05:00 | Start talking | Stop talking
Green tea | 02:30 | Steep | Remove leaves
Exam round one | 45:00 | Open the paper | Hand it in
Morning stretch | 10:00 | Stretch | Relax
Laundry | 58:00 | Run the machine | Hold the machine
Chess clock | 15:00 | First move | Freeze
Kettle | 03:00 | Boil | Switch off
Boxing round | 03:30 | Ring the bell | Back to corner
Reading hour | 60:00 | Open the book | Close the book
Parking meter | 30:00 | Insert coin | End parking
""",
    (
        'A timer display titled "{title}" showing "{time}" and a button "{button}" that turns into "{after}" when '
        "clicked.",
        'Heading "{title}", the time "{time}" in big digits, and a "{button}" button whose label becomes "{after}" '
        "once pressed.",
        'Make a timer face: title "{title}", "{time}", one button. It says "{button}" first and "{after}" after a '
        "click. No real countdown needed.",
    ),
    lambda f: [
        heading(f["title"]),
        text(f["time"]),
        button(f["button"]),
        click(f["button"], role="button", name=f["after"]),
    ],
    (
        """
import { useState } from "react";

export default function Timer() {
  const [on, setOn] = useState(false);
  return (
    <div className="p-6">
      <h1>@title</h1>
      <p className="text-4xl">@time</p>
      <button className="border" onClick={() => setOn(!on)}>{on ? "@after" : "@button"}</button>
    </div>
  );
}
""",
    ),
)

FAMILIES = (COUNTER, LIKE, PROGRESS, SCORE, TIMER)
