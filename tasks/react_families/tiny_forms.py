"""Tiny tier: a field or two, a button, an answer."""

from tasks.react_families.kit import Family, button, click, heading, role, text, typed

GREETING = Family(
    "greeting",
    "title label hello name",
    """
Welcome desk | Your name | Nice to meet you, | Ada
Name tag | First name | My name is | Bruno
Cafe order | Customer | Coffee for | Chiara
Pirate test | Sailor | Ahoy, captain | Dmitri
Secret agent | Agent | The name is | Elif
Birthday card | Birthday child | Happy birthday, | Finn
Ticket | Passenger | One seat for | Grace
Dog licence | Dog | Good dog, | Hector
Karaoke | Singer | Next on stage: | Imani
Classroom | Pupil | Good morning, | Jonas
Space crew | Astronaut | Ready for launch, | Keiko
Doctor visit | Patient | The doctor will see | Luis
Hotel lobby | Guest | Enjoy your stay, | Magda
Guest book | Visitor | Signed by | Nils
Fan mail | Fan | Your biggest fan, | Olga
""",
    (
        'Heading "{title}" and a text field labelled "{label}". When I type {name} it says "{hello} {name}".',
        'A text box labelled "{label}" under the heading "{title}"; below it "{hello}" followed by whatever I type, '
        'e.g. "{hello} {name}".',
        'Greeting app with the heading "{title}". One input, "{label}", and live text: typing {name} gives '
        '"{hello} {name}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["label"]),
        typed(f["label"], f["name"], text=f"{f['hello']} {f['name']}"),
    ],
    (
        """
import { useState } from "react";

export default function Greeting() {
  const [name, setName] = useState("");
  return (
    <div className="p-6">
      <h1>@title</h1>
      <input className="border" aria-label="@label" onChange={(e) => setName(e.target.value)} />
      <p>@hello {name}</p>
    </div>
  );
}
""",
        """
import { useState } from "react";

export default function Hello() {
  const [name, setName] = useState("");
  return (
    <div className="p-6">
      <h1>@title</h1>
      <label>
        @label <input className="border" onChange={(e) => setName(e.target.value)} />
      </label>
      <p>@hello {name}</p>
    </div>
  );
}
""",
    ),
)

CONTACT = Family(
    "contact",
    "title one two button",
    """
Contact us | Full name | Message | Send
Report a pothole | Street | What happened | Report
Song request | Song title | Dedicated to | Request it
Lost and found | Item lost | Where | Submit
Ask the chef | Dish | Your question | Ask
Book a table | Name for the table | Guests | Book
Feedback | Topic | Your thoughts | Give feedback
Pen pals | Country | Hobbies | Find a friend
Repair request | Flat number | Problem | Call the plumber
Job application | Position | Why you | Apply
Review this book | Book | Your review | Publish
Invite a colleague | Work email | Team name | Invite
Send a postcard | Recipient | Greeting | Mail it
Suggest a stop | City to visit | Reason | Suggest
Adopt a tree | Tree name | Postcode | Adopt
""",
    (
        'A form headed "{title}" with text fields "{one}" and "{two}" and a button "{button}".',
        'Contact form: title "{title}", inputs labelled "{one}" and "{two}", and a "{button}" button.',
        'I need a simple form. Heading "{title}". It has two labelled text inputs, "{one}" and "{two}". The button '
        'says "{button}".',
    ),
    lambda f: [heading(f["title"]), role("textbox", f["one"]), role("textbox", f["two"]), button(f["button"])],
    (
        """
export default function ContactForm() {
  return (
    <form className="grid w-80 gap-2 p-6">
      <h1>@title</h1>
      <label>@one <input className="border" /></label>
      <label>@two <input className="border" /></label>
      <button className="bg-@tone-200">@button</button>
    </form>
  );
}
""",
        """
export default function Form() {
  return (
    <form className="grid w-80 gap-2 p-4">
      <h2>@title</h2>
      <input className="border" placeholder="@one" />
      <textarea className="border" placeholder="@two" />
      <button className="bg-@tone-200">@button</button>
    </form>
  );
}
""",
    ),
)

NEWSLETTER = Family(
    "newsletter",
    "title label button after",
    """
Letters from the lighthouse | Email address | Subscribe | Check your inbox
Weekly recipes | Your email | Feed me | First recipe is coming
Beta waiting list | Email for the beta | Join the queue | You are number 88
Price alerts | Where to write | Alert me | We will write soon
Garden almanac | Mail | Plant my name | You have taken root
Tech digest | Work email | Sign up | Almost done
Poem a day | Reader email | Send poems | A poem is on its way
Club bulletin | Member email | Keep me posted | You are on the list
Sale starts Friday | Email here | Tell me first | We will wake you
School news | Parent email | Register | Registered, thank you
Deep sea facts | Diver email | Dive in | Splash
Quiet mornings | Address for letters | Yes please | Lovely to have you
Bug reports monthly | Developer email | Enroll | Enrolled
Podcast notes | Listener email | Get notes | Notes sent
Film festival | Email for tickets | Notify me | See you at the premiere
""",
    (
        'Newsletter box: heading "{title}", a field "{label}", and a button "{button}" that shows "{after}".',
        'A signup with the heading "{title}", an input labelled "{label}" and a "{button}" button. After clicking it '
        'says "{after}".',
        'Heading "{title}", text field "{label}", button "{button}". On click display "{after}".',
    ),
    lambda f: [
        heading(f["title"]),
        role("textbox", f["label"]),
        button(f["button"]),
        click(f["button"], text=f["after"]),
    ],
    (
        """
import { useState } from "react";

export default function Newsletter() {
  const [sent, setSent] = useState(false);
  return (
    <div className="p-6">
      <h2>@title</h2>
      <input className="border" placeholder="@label" />
      <button className="border" onClick={() => setSent(true)}>@button</button>
      {sent && <p>@after</p>}
    </div>
  );
}
""",
    ),
)

LOGIN = Family(
    "login",
    "title label button secret",
    """
Staff area | Username | Let me in | Password
Welcome back | Email | Sign in | Your password
Pilot log | Crew id | Take off | PIN code
Homework portal | Student number | Log in | School password
Diver club | Member name | Enter the club | Member code
Night bank | Customer number | Access account | Secret word
Author login | Pen name | Start writing | Passphrase
Camera admin | Admin name | Connect | Admin password
Tenant page | Flat | Open door | Door code
Game server | Player tag | Play now | Server key
Clinic intranet | Badge number | Continue | Clinic password
Voting desk | Voter id | Proceed | Ballot code
Fleet console | Driver | Start shift | Truck code
Choir archive | Singer name | See scores | Archive word
Lab booking | Researcher | Go to bookings | Lab key
""",
    (
        'A login box titled "{title}" with a text field labelled "{label}", a password field labelled "{secret}" and '
        'a button "{button}". Labels visible.',
        'Login form, heading "{title}". Visible labels "{label}" and "{secret}" next to their inputs; the button says '
        '"{button}".',
        'Sign-in card with the heading "{title}", labels "{label}" (text) and "{secret}" (password), and a "{button}" '
        "button.",
    ),
    lambda f: [heading(f["title"]), role("textbox", f["label"]), text(f["secret"]), button(f["button"])],
    (
        """
export default function Login() {
  return (
    <form className="grid w-80 gap-2 p-6">
      <h1 className="text-2xl">@title</h1>
      <label>@label <input className="border" /></label>
      <label>@secret <input className="border" type="password" /></label>
      <button className="border">@button</button>
    </form>
  );
}
""",
    ),
)

POLL = Family(
    "poll",
    "question one two said",
    """
Tea or coffee? | Tea | Coffee | You picked
Where shall we go? | Beach | Mountains | Packing for the
Did you enjoy the show? | Loved it | Not really | Your verdict:
Best pet? | Rabbit | Parrot | You are a friend of the
Pizza topping? | Olives | Pineapple | Extra
When do we meet? | Noon | Sunset | Meeting at
Which logo is nicer? | The fox | The anchor | Vote counted for
How was the soup? | Too salty | Just right | You found it
Window or aisle? | Window | Aisle | Seat booked by the
Should we paint the hall? | Paint it | Leave it | Your vote:
Pick a starter dragon | Ember | Frost | You chose
Early bird or night owl? | Early bird | Night owl | Hello,
Team lunch? | Sushi | Burritos | We are ordering
Bring back the old logo? | Bring it back | Never | Recorded:
Heads or tails? | Heads | Tails | You bet on
""",
    (
        'Ask "{question}" in a heading with the buttons "{one}" and "{two}". After a click show "{said} {one}" or '
        '"{said} {two}".',
        'A tiny poll: heading "{question}", buttons "{one}" and "{two}". Clicking one says "{said}" plus the choice, '
        'like "{said} {two}".',
        'Heading "{question}". Two buttons: "{one}", "{two}". When clicked, display "{said} {one}" (or {two}).',
    ),
    lambda f: [
        heading(f["question"]),
        button(f["one"]),
        button(f["two"]),
        click(f["two"], text=f"{f['said']} {f['two']}"),
        click(f["one"], text=f"{f['said']} {f['one']}"),
    ],
    (
        """
import { useState } from "react";

export default function Poll() {
  const [pick, setPick] = useState("");
  return (
    <div className="flex gap-4 p-6">
      <h1>@question</h1>
      <button onClick={() => setPick("@one")}>@one</button>
      <button onClick={() => setPick("@two")}>@two</button>
      <p>@said {pick}</p>
    </div>
  );
}
""",
    ),
)

FAMILIES = (GREETING, CONTACT, NEWSLETTER, LOGIN, POLL)
