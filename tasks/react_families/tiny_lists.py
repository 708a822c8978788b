"""Tiny tier: lists, tables and navigation."""

from tasks.react_families.kit import Family, heading, role, text, texts

TODO = Family(
    "todo",
    "title items*",
    """
Before the trip | Renew passport; Water the cactus; Pack charger
Monday | Call the bank; Send invoice 88; Buy stamps
Spring cleaning | Wash curtains; Sort the shed; Donate coats
Release checklist | Bump version; Write notes; Tag the build
Wedding tasks | Book the band; Taste cakes; Choose rings
New flat | Change address; Paint bedroom; Meet neighbours
Garden jobs | Prune roses; Fix the gate; Plant garlic
Exam week | Revise chapter 4; Print summary; Sleep early
Car | Check tyres; Fill washer fluid; Pay insurance
For the baby | Build the cot; Wash tiny socks; Pick a name
Band practice | Tune bass; Learn bridge; Bring cables
Office closing | Lock windows; Empty fridge; Set alarm
Learn to cook | Boil an egg; Roast carrots; Bake bread
Charity run | Collect bibs; Mark route; Fill cups
Sunday plan | Pancakes; Long bath; Phone grandpa
""",
    (
        'A to-do list titled "{title}" with the items {items}.',
        'My to-do list: heading "{title}", bullet points {items}.',
        'Please list {items} under the heading "{title}". Just a static list.',
        'Heading "{title}" and below it an unordered list of three tasks: {items}.',
    ),
    lambda f: [heading(f["title"]), role("listitem", min=3, max=3), *texts(f["items"])],
    (
        """
export default function TodoList() {
  return (
    <div className="p-6">
      <h1 className="text-2xl">@title</h1>
      <ul className="list-disc">
        <li>@first</li>
        <li>@second</li>
        <li>@third</li>
      </ul>
    </div>
  );
}
""",
        """
export default function Tasks() {
  const tasks = @items;
  return (
    <main className="p-6">
      <h1 className="text-2xl">@title</h1>
      <ul>
        {tasks.map((task) => (
          <li key={task}>{task}</li>
        ))}
      </ul>
    </main>
  );
}
""",
    ),
)

CHECKLIST = Family(
    "checklist",
    "title items*",
    """
Groceries | Milk; Rye bread; Eggs
Hardware store | Nails; Wood glue; Sandpaper
Picnic basket | Blanket; Grapes; Lemonade
Art supplies | Charcoal; Sketch pad; Fixative
Pharmacy | Plasters; Sun cream; Cough drops
Swim bag | Goggles; Towel; Flip-flops
Party shopping | Balloons; Paper plates; Ice cubes
Taco night | Tortillas; Limes; Coriander
Ski trip | Thermal socks; Lip balm; Lift pass
Cat needs | Litter; Tuna; New mouse toy
School bag | Pencil case; Lunch box; Gym shoes
Toolbox | Hammer; Tape measure; Spirit level
Movie snacks | Popcorn; Nachos; Cola
First aid kit | Bandage; Tweezers; Gloves
Camp kitchen | Stove; Matches; Tin opener
""",
    (
        'A shopping list headed "{title}" with a checkbox for each of {items}.',
        'Checklist "{title}" (heading) where I can tick off {items}.',
        'Heading "{title}" and three checkboxes labelled {items}.',
    ),
    lambda f: [heading(f["title"]), *[role("checkbox", item) for item in f["items"]]],
    (
        """
export default function Checklist() {
  const items = @items;
  return (
    <div className="p-6">
      <h1 className="text-2xl">@title</h1>
      {items.map((item) => (
        <p key={item}>
          <label><input type="checkbox" /> {item}</label>
        </p>
      ))}
    </div>
  );
}
""",
    ),
)

RECIPE = Family(
    "recipe",
    "title serves items*",
    """
Lentil soup | Serves 4 | 200 g lentils; 1 onion; 2 carrots
Banana bread | Makes 10 slices | 3 bananas; 250 g flour; 80 g butter
Greek salad | Serves 2 | 4 tomatoes; 1 cucumber; 150 g feta
Pancakes | Makes 8 | 2 eggs; 300 ml milk; 180 g flour
Tomato sauce | Enough for 5 plates | 1 kg tomatoes; 3 garlic cloves; Basil
Hummus | One big bowl | 400 g chickpeas; 2 lemons; Tahini
Rice pudding | Serves 6 | 150 g rice; 1 litre milk; Vanilla
Veggie chili | Serves 8 | 2 tins of beans; 3 peppers; Cumin
Iced coffee | One glass | Espresso; Ice; Oat milk
Apple crumble | Serves 3 | 5 apples; 100 g oats; Brown sugar
Miso noodles | Ready in 12 minutes | 90 g noodles; Miso paste; Spring onion
Guacamole | A bowl for three | 2 avocados; Lime; Salt flakes
Potato gratin | Serves 7 | 1.5 kg potatoes; Cream; Nutmeg
Fruit punch | Fills 12 cups | Orange juice; Ginger ale; Frozen berries
Garlic bread | Makes 2 loaves | Baguettes; Soft butter; Parsley
""",
    (
        'A recipe card: heading "{title}", the note "{serves}", and a list of ingredients {items}.',
        'Recipe for "{title}" as a heading with "{serves}" underneath, then the ingredients as a list: {items}.',
        'Show the ingredients for "{title}" (heading). "{serves}". List: {items}.',
    ),
    lambda f: [
        heading(f["title"]),
        text(f["serves"]),
        role("listitem", min=3, max=3),
        text(f["first"]),
        text(f["third"]),
    ],
    (
        """
export default function Recipe() {
  return (
    <article className="p-6">
      <h2 className="text-xl">@title</h2>
      <p>@serves</p>
      <ul>
        <li>@first</li>
        <li>@second</li>
        <li>@third</li>
      </ul>
    </article>
  );
}
""",
        """
export default function RecipeCard() {
  const items = @items;
  return (
    <div className="bg-@tone-50 p-6">
      <h1 className="text-xl">@title</h1>
      <p>@serves</p>
      <ul>{items.map((item) => <li key={item}>{item}</li>)}</ul>
    </div>
  );
}
""",
    ),
)

NAVBAR = Family(
    "navbar",
    "brand links*",
    """
Fernweh Travel | Trips; Prices; Contact
Bean There | Menu; Beans; Locations
Studio Nine | Work; Team; Journal
Pixel Clinic | Services; Doctors; Opening hours
Green Loop | Shop; Recycle; Our story
The Daily Otter | News; Sport; Culture
Northside Gym | Classes; Trainers; Join us
Codex Academy | Courses; Mentors; Scholarships
Luna Yoga | Schedule; Teachers; Retreats
Brick and Co | Houses; Renting; Agents
Tiny Farm | Eggs; Honey; Visit us
Open Maps Club | Maps; Events; Donate
Hillside Vet | Pets; Emergencies; Directions
Retro Arcade | Games; Parties; High scores
Museum of Tides | Exhibits; Tickets; Research
""",
    (
        'A navigation bar with the brand "{brand}" and links {links}.',
        'Navbar for my site "{brand}": show the name on the left, then the links {links}.',
        'Top navigation (use a nav element) that says "{brand}" and links to {links}.',
    ),
    lambda f: [role("navigation"), text(f["brand"]), *[role("link", link) for link in f["links"]]],
    (
        """
export default function Navbar() {
  return (
    <nav className="flex gap-4 bg-@tone-200 p-4">
      <b>@brand</b>
      <a href="#">@first</a>
      <a href="#">@second</a>
      <a href="#">@third</a>
    </nav>
  );
}
""",
        """
export default function NavBar() {
  const links = @links;
  return (
    <nav className="bg-@tone-200 p-4">
      <strong>@brand</strong>
      {links.map((link) => (
        <a key={link} href="#" className="ml-4">{link}</a>
      ))}
    </nav>
  );
}
""",
    ),
)

TABLE = Family(
    "table",
    "title one two rows*",
    """
Opening hours | Day | Open | Saturday; 9 to 6; Sunday; 11 to 4
Bus 42 | Stop | Leaves | Town hall; 7:10; Hospital; 7:24
League table | Club | Points | Rovers; 31; Athletic; 28
Price list | Drink | Costs | Mint tea; 3.20; Cocoa; 3.80
Crew | Role | Who | Captain; Ifeoma; Cook; Stellan
High tides | Place | Height | Dover; 6.1 m; Brest; 6.7 m
Test results | Subject | Grade | Physics; B plus; Music; A
Moving costs | Item | Amount | Van; $140; Boxes; $35
Planets | Planet | Moons | Mars; 2; Neptune; 16
Servers | Host | Load | apollo; 71%; hermes; 12%
Fish counter | Fish | Per kilo | Cod; €22; Herring; €9
Rehearsals | Group | Where | Strings; Hall; Brass; Gym
Plant diary | Plant | Height now | Basil; 14 cm; Chili; 33 cm
Flight times | City | Arrival | Dakar; 05:55; Vienna; 06:20
Chores | Chore | Turn | Dishes; Wanda; Rubbish; Leo
""",
    (
        'A table headed "{title}" with the columns "{one}" and "{two}". Rows: {first} {second}, {third} {fourth}.',
        'Under a heading "{title}", make a table. Columns "{one}", "{two}"; first row {first} and {second}, second row '
        "{third} and {fourth}.",
        'Small table, heading "{title}", header cells "{one}" and "{two}", and two rows: {first}, {second} / {third}, '
        "{fourth}.",
    ),
    lambda f: [
        heading(f["title"]),
        role("table"),
        role("columnheader", f["one"]),
        role("columnheader", f["two"]),
        role("row", min=3, max=3),
    ],
    (
        """
export default function Table() {
  return (
    <div className="p-6">
      <h2>@title</h2>
      <table className="w-80">
        <tbody>
          <tr><th>@one</th><th>@two</th></tr>
          <tr><td>@first</td><td>@second</td></tr>
          <tr><td>@third</td><td>@fourth</td></tr>
        </tbody>
      </table>
    </div>
  );
}
""",
    ),
)

FAMILIES = (TODO, CHECKLIST, RECIPE, NAVBAR, TABLE)
