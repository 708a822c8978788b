"""The packages that components import: all there, only where they are imported, and nothing else."""

# ruff: noqa: E501 - JSX on one line is easier to read than cut in pieces

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sandbox_helpers import REPO, Judge, app

from sandbox import setup
from sandbox.compile import Compiled, NodeCompiler, Source
from sandbox.outcome import Outcome, Status

TABLE = json.loads((REPO / "sandbox" / "worker" / "libraries.json").read_text(encoding="utf-8"))
MODULES = [module for modules in TABLE["bundles"].values() for module in modules]
OWN = sorted(p.stem for p in (REPO / "sandbox" / "worker" / "ui").glob("*.jsx"))


@pytest.fixture(scope="module")
def compiler() -> Iterator[NodeCompiler]:
    node = setup.node()
    assert node is not None
    with NodeCompiler(node, setup.prepare_worker(), render=True, timeout_s=60) as compiler:
        yield compiler


def compiled(compiler: NodeCompiler, head: str, body: str = "return <p>hi</p>;") -> Compiled:
    (found,) = compiler.compile([Source(app(body, head))])
    assert found.status is Status.OK, found.diagnostics
    return found


def messages(outcome: Outcome) -> str:
    return " | ".join(d.message for d in outcome.diagnostics)


def pixels(outcome: Outcome, colour: tuple[int, int, int]) -> int:
    """How many pixels of the screenshot have about this colour."""
    assert outcome.screenshot is not None, messages(outcome)
    picture = np.asarray(Image.open(outcome.screenshot).convert("RGB"), dtype=int)
    return int((np.abs(picture - colour).max(axis=2) < 24).sum())


# What is there, and what is not.


@pytest.mark.parametrize("module", MODULES)
def test_a_name_that_a_package_does_not_export_is_told_with_its_line(compile_only: Judge, module: str) -> None:
    code = f'// é\nimport {{\n  NoSuchThing }} from "{module}";\nexport default () => <p>{{NoSuchThing}}</p>;'
    (outcome,) = compile_only(code)
    assert outcome.status is Status.IMPORT_ERROR
    (found,) = outcome.diagnostics
    assert (found.source, found.line, found.column) == ("imports", 3, 3)
    assert f'"{module}" has no export "NoSuchThing"' in found.message


@pytest.mark.parametrize(
    "module",
    [
        *("./Foo", "../components/Foo", "@/components/Foo", "@/components/ui", "@/hooks/use-toast", "lucide", "lodash"),
        *("@heroicons/react", "@heroicons/react/solid", "recharts/es6", "constructor", "__proto__"),
    ],
)
def test_any_other_module_is_not_there(compile_only: Judge, module: str) -> None:
    (outcome,) = compile_only(f'import Foo from "{module}";\nexport default () => <Foo />;')
    assert outcome.status is Status.IMPORT_ERROR
    is_file = module.startswith((".", "@/")) and module != "@/components/ui"
    said = f'there is no file "{module}" beside a component' if is_file else f'package "{module}" is not available'
    assert said in messages(outcome)
    assert (outcome.diagnostics[0].line, outcome.diagnostics[0].column) == (1, 17)


@pytest.mark.parametrize("module", ["zustand", "lucide-react", "recharts", "framer-motion", "@/components/ui/button"])
def test_there_is_no_default_export_where_a_package_has_none(compile_only: Judge, module: str) -> None:
    (outcome,) = compile_only(f'import Thing from "{module}";\nexport default () => <p>{{String(Thing)}}</p>;')
    assert outcome.status is Status.IMPORT_ERROR
    assert 'no export "default"' in messages(outcome)


def test_every_stand_in_of_ours_can_be_imported() -> None:
    shared = {"hint", "modal", "parts"}
    assert {f"@/components/ui/{name}" for name in set(OWN) - shared} == {m for m in MODULES if "/ui/" in m}


# A page gets what its component imports, and no more.


@pytest.mark.parametrize(
    ("head", "bundles"),
    [
        ("", ["react"]),
        ('import { motion } from "framer-motion";', ["react", "framer-motion"]),
        ('import { LineChart as Chart } from "recharts";', ["react", "recharts"]),
        ('import { cn } from "@/lib/utils";\nimport clsx from "clsx";', ["react", "class-names"]),
        ('import { Home as House } from "lucide-react";', ["react"]),
        ('import { HomeIcon } from "@heroicons/react/24/solid";', ["react"]),
        ('import * as icons from "lucide-react";', ["react", "lucide"]),
        ('import { icons, Home } from "lucide-react";', ["react", "lucide"]),
        ('const icons = require("@heroicons/react/20/solid");', ["react", "heroicons-20-solid"]),
    ],
)
def test_a_page_gets_the_bundles_that_it_needs(compiler: NodeCompiler, head: str, bundles: list[str]) -> None:
    names = re.findall(r"(\w+)(?: }|,| from| =)", head)
    body = f"return <p>{{[{', '.join(names)}].length}}</p>;"
    assert list(compiled(compiler, head, body).bundles) == bundles


def test_a_page_gets_the_icons_that_it_shows_alone(compiler: NodeCompiler) -> None:
    plain = compiled(compiler, "")
    one = compiled(compiler, 'import { House } from "lucide-react";', "return <House />;")
    assert "house" in one.script
    assert "trash" not in one.script
    assert len(one.script) - len(plain.script) < 3000


def test_the_classes_of_what_is_imported_are_styled_too(compiler: NodeCompiler) -> None:
    button = 'import { Button } from "@/components/ui/button";'
    styled = compiled(compiler, button, "return <Button>hi</Button>;").css
    assert ".bg-primary" in styled
    assert "--primary:" in styled
    for name in ("inline-flex", "rounded-md", r"hover\:bg-accent"):
        assert f".{name}" in styled
    plain = compiled(compiler, "", 'return <p className="bg-primary p-4">hi</p>;').css
    assert ".p-4" in plain
    assert ".bg-primary" not in plain
    assert ".inline-flex" not in plain


# What a real browser shows.

DATA = 'const data = [{ month: "Jan", sold: 4 }, { month: "Feb", sold: 9 }, { month: "Mar", sold: 6 }];'
LIST = 'const list = [{ id: 1, name: "Ada" }, { id: 2, name: "Grace" }];'
CHARTS = app(
    """const moving = { isAnimationActive: true, animationDuration: 60000 };
return (
  <div>
    <div style={{ height: 300 }}><ResponsiveContainer width="100%" height="100%"><BarChart data={data}>
      <XAxis dataKey="month" /><YAxis /><Tooltip /><Bar dataKey="sold" fill="#ff0000" {...moving} />
    </BarChart></ResponsiveContainer></div>
    <LineChart width={400} height={200} data={data}><Line dataKey="sold" stroke="#00aa00" strokeWidth={8} dot={false} {...moving} /></LineChart>
    <PieChart width={300} height={200}><Pie data={data} dataKey="sold" fill="#0000ff" {...moving} /></PieChart>
  </div>);""",
    f'import {{ Bar, BarChart, Line, LineChart, Pie, PieChart, ResponsiveContainer, Tooltip, XAxis, YAxis }} from "recharts";\n{DATA}',
)
MOTION = app(
    """const [shown, setShown] = useState(true);
useEffect(() => { setTimeout(() => setShown(false), 500); }, []);
const slow = { duration: 60, delay: 30 };
return (
  <div>
    <motion.div initial={{ opacity: 0, y: -500 }} animate={{ opacity: 1, y: 0 }} transition={slow} style={{ background: "#ff0000", height: 50 }} />
    <motion.div animate={{ width: [0, 600] }} transition={{ repeat: Infinity, duration: 3 }} style={{ background: "#00aa00", height: 50 }} />
    <motion.div initial={{ opacity: 0 }} whileInView={{ opacity: 1 }} transition={slow} style={{ background: "#0000ff", height: 50 }} />
    <AnimatePresence mode="wait">{shown ? <motion.p key="a" exit={{ opacity: 0 }} transition={slow}>before</motion.p> : <motion.p key="b" initial={{ opacity: 0 }} animate={{ opacity: 1 }} transition={slow}>after</motion.p>}</AnimatePresence>
  </div>);""",
    'import { AnimatePresence, motion } from "framer-motion";',
)
FRAMES = app(
    """const [n, set] = useState(0);
const box = React.useRef(null);
const [seen, see] = useState("unseen");
useEffect(() => {
  let id = requestAnimationFrame(function step() { set((x) => x + 1); id = requestAnimationFrame(step); });
  const observer = new IntersectionObserver(([entry]) => entry.isIntersecting && see("in view"), { threshold: 0.5 });
  observer.observe(box.current);
  return () => cancelAnimationFrame(id);
}, []);
return <div><p>{n} frames</p><p ref={box}>{seen}</p></div>;"""
)


@pytest.mark.browser
def test_what_moves_is_shown_at_its_end_and_the_same_every_time(render: Judge) -> None:
    codes = [CHARTS, MOTION, FRAMES]
    charts, motion, frames, *again = render(*codes, *(f"{code}// again" for code in codes))
    for outcome in (charts, motion, frames):
        assert outcome.status is Status.OK, messages(outcome)
        assert not outcome.diagnostics
    assert [o.screenshot for o in (charts, motion, frames)] == [o.screenshot for o in again]
    assert pixels(charts, (255, 0, 0)) > 50_000  # bars of three heights, as wide as they will be
    assert pixels(charts, (0, 170, 0)) > 2_000
    assert pixels(charts, (0, 0, 255)) > 15_000  # a disc of 160 pixels across, less the lines in it
    assert pixels(motion, (255, 0, 0)) == pixels(motion, (0, 0, 255)) > 50_000
    assert pixels(motion, (0, 170, 0)) == 600 * 50


@pytest.mark.browser
def test_what_ends_later_shows_in_the_texts(render: Judge) -> None:
    texts = lambda *shown: [{"check": "text", "text": text} for text in shown]  # noqa: E731
    for outcome in render((MOTION, texts("after")), (FRAMES, texts("124 frames", "in view")), (CHARTS, texts("Feb"))):
        assert outcome.requirements_met == 1, outcome.requirements


def page(head: str, body: str, *asked: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    return app(body, head), list(asked)


def click(role: str, name: str, expect: dict[str, Any]) -> dict[str, Any]:
    return {"check": "click", "role": role, "name": name, "expect": expect}


def ui(*names: str) -> str:
    """Imports of all that these stand-ins export, as one object each."""
    return "\n".join(f'import * as {n.title().replace("-", "")} from "@/components/ui/{n}";' for n in names)


PAGES = {
    "icons": page(
        'import { Home, Trash2 as Bin, Github } from "lucide-react";\n'
        + "\n".join(
            f'import {{ BellIcon as {name} }} from "@heroicons/react/{kind}";'
            for name, kind in (("A", "24/outline"), ("B", "24/solid"), ("C", "20/solid"), ("D", "16/solid"))
        ),
        'return <div>{[Home, Bin, Github, A, B, C, D].map((Icon, i) => <Icon key={i} width={40} role="img" aria-label={"icon" + i} aria-hidden={undefined} />)}</div>;',
        {"check": "role", "role": "img", "name": "icon", "min": 7, "max": 7},
    ),
    "all icons": page(
        'import * as Icons from "lucide-react";',
        'const Icon = Icons[["Ho", "use"].join("")];\nreturn <Icon role="img" aria-label="house" />;',
        {"check": "role", "role": "img", "name": "house"},
    ),
    "dates": page(
        'import { addDays, differenceInDays, format } from "date-fns";',
        'const day = new Date(2026, 0, 31);\nreturn <p>{format(addDays(day, 1), "MMMM do, yyyy")} {differenceInDays(addDays(day, 9), day)}</p>;',
        {"check": "text", "text": "February 1st, 2026 9"},
    ),
    "stores": page(
        'import { create } from "zustand";\nimport { persist } from "zustand/middleware";\n'
        'const useStore = create(persist((set) => ({ n: 1, add: () => set((s) => ({ n: s.n + 1 })) }), { name: "n" }));',
        "const { n, add } = useStore();\nreturn <button onClick={add}>Bears: {n}</button>;",
        click("button", "Bears: 1", {"text": "Bears: 2"}),
    ),
    "class names": page(
        'import clsx from "clsx";\nimport { twMerge } from "tailwind-merge";\nimport { cva } from "class-variance-authority";\nimport { cn } from "@/lib/utils";\n'
        'const tone = cva("a", { variants: { tone: { hot: "b" } }, defaultVariants: { tone: "hot" } });',
        'return <p>{clsx("x", { y: true, z: false })}; {twMerge("p-2", "p-4")}; {tone()}; {cn("m-1", null, ["m-2"])}</p>;',
        {"check": "text", "text": "x y; p-4; a b; m-2"},
    ),
    "form controls": page(
        ui(
            "button",
            "checkbox",
            "input",
            "label",
            "radio-group",
            "slider",
            "switch",
            "textarea",
            "toggle",
            "toggle-group",
        ),
        """const [on, setOn] = useState(false);
const [level, setLevel] = useState([20]);
const [terms, setTerms] = useState("none");
const [size, setSize] = useState("none");
return (
  <form onSubmit={(e) => { e.preventDefault(); e.currentTarget.after("sent " + new URLSearchParams(new FormData(e.currentTarget))); }}>
    <Checkbox.Checkbox id="terms" name="terms" onCheckedChange={setTerms} /><p>terms {String(terms)}</p><Label.Label htmlFor="terms">Accept</Label.Label>
    <Switch.Switch aria-label="Wifi" checked={on} onCheckedChange={setOn} /><p>wifi {String(on)}</p>
    <RadioGroup.RadioGroup name="size" defaultValue="s" onValueChange={setSize}><p>size {size}</p>
      <RadioGroup.RadioGroupItem value="s" aria-label="small" /><RadioGroup.RadioGroupItem value="l" aria-label="large" />
    </RadioGroup.RadioGroup>
    <Slider.Slider aria-label="Level" value={level} onValueChange={setLevel} /><p>level {level[0]}</p>
    <Input.Input name="who" aria-label="Who" /><Textarea.Textarea name="why" aria-label="Why" />
    <Toggle.Toggle aria-label="Bold">B</Toggle.Toggle>
    <ToggleGroup.ToggleGroup type="single"><ToggleGroup.ToggleGroupItem value="x" aria-label="left">x</ToggleGroup.ToggleGroupItem></ToggleGroup.ToggleGroup>
    <Button.Button type="submit">Send</Button.Button>
    <Button.Button asChild variant="link"><a href="#help">Help</a></Button.Button>
  </form>);""",
        {"check": "role", "role": "link", "name": "Help"},
        {"check": "role", "role": "slider", "name": "Level"},
        click("checkbox", "Accept", {"text": "terms true"}),
        click("switch", "Wifi", {"text": "wifi true"}),
        {"check": "type", "role": "slider", "name": "Level", "value": "70", "expect": {"text": "level 70"}},
        {"check": "type", "role": "textbox", "name": "Who", "value": "Ada", "expect": {"text": "Ada"}},
        click("radio", "large", {"text": "size l"}),
        click("button", "Send", {"text": "sent terms=on&size=l&who=Ada&why="}),
    ),
    "dialogs": page(
        ui("alert-dialog", "button", "dialog", "sheet"),
        """const [gone, setGone] = useState(false);
const [open, setOpen] = useState(false);
return (
  <div>
    <Dialog.Dialog><Dialog.DialogTrigger asChild><Button.Button>Edit</Button.Button></Dialog.DialogTrigger>
      <Dialog.DialogContent><Dialog.DialogHeader><Dialog.DialogTitle>Profile</Dialog.DialogTitle><Dialog.DialogDescription>All of it</Dialog.DialogDescription></Dialog.DialogHeader>
        <Dialog.DialogFooter><Dialog.DialogClose asChild><Button.Button>Done</Button.Button></Dialog.DialogClose></Dialog.DialogFooter></Dialog.DialogContent></Dialog.Dialog>
    <AlertDialog.AlertDialog><AlertDialog.AlertDialogTrigger>Delete</AlertDialog.AlertDialogTrigger>
      <AlertDialog.AlertDialogContent><AlertDialog.AlertDialogTitle>Sure?</AlertDialog.AlertDialogTitle>
        <AlertDialog.AlertDialogCancel>No</AlertDialog.AlertDialogCancel><AlertDialog.AlertDialogAction onClick={() => setGone(true)}>Yes</AlertDialog.AlertDialogAction></AlertDialog.AlertDialogContent></AlertDialog.AlertDialog>
    <button onClick={() => setOpen(true)}>Menu</button>
    <Sheet.Sheet open={open} onOpenChange={setOpen}><Sheet.SheetContent side="left"><Sheet.SheetTitle>Places</Sheet.SheetTitle></Sheet.SheetContent></Sheet.Sheet>
    <p>{gone ? "deleted" : "there"}</p>
  </div>);""",
        click("button", "Edit", {"role": "dialog", "name": "Profile"}),
        click("button", "Done", {"no_text": "All of it"}),
        click("button", "Delete", {"role": "alertdialog", "name": "Sure?"}),
        click("button", "Yes", {"text": "deleted"}),
        click("button", "Menu", {"role": "dialog", "name": "Places"}),
        click("button", "Close", {"no_text": "Places"}),
    ),
    "layers": page(
        ui("button", "dropdown-menu", "hover-card", "popover", "select", "tooltip"),
        """const [fruit, setFruit] = useState("");
const [bar, setBar] = useState(false);
return (
  <div className="p-8">
    <Select.Select value={fruit} onValueChange={setFruit}>
      <Select.SelectTrigger aria-label="Fruit"><Select.SelectValue placeholder="Choose one" /></Select.SelectTrigger>
      <Select.SelectContent><Select.SelectItem value="a">Apple</Select.SelectItem><Select.SelectItem value="p">Pear</Select.SelectItem></Select.SelectContent></Select.Select>
    <Select.Select defaultValue="x"><Select.SelectTrigger aria-label="Other"><Select.SelectValue /></Select.SelectTrigger>
      <Select.SelectContent><Select.SelectItem value="x">Chosen before</Select.SelectItem></Select.SelectContent></Select.Select>
    <DropdownMenu.DropdownMenu><DropdownMenu.DropdownMenuTrigger asChild><Button.Button>View</Button.Button></DropdownMenu.DropdownMenuTrigger>
      <DropdownMenu.DropdownMenuContent><DropdownMenu.DropdownMenuCheckboxItem checked={bar} onCheckedChange={setBar}>Status bar</DropdownMenu.DropdownMenuCheckboxItem></DropdownMenu.DropdownMenuContent></DropdownMenu.DropdownMenu>
    <Popover.Popover><Popover.PopoverTrigger>Size</Popover.PopoverTrigger><Popover.PopoverContent>Width and height</Popover.PopoverContent></Popover.Popover>
    <Tooltip.TooltipProvider><Tooltip.Tooltip defaultOpen><Tooltip.TooltipTrigger>Save</Tooltip.TooltipTrigger><Tooltip.TooltipContent>Keeps it</Tooltip.TooltipContent></Tooltip.Tooltip></Tooltip.TooltipProvider>
    <HoverCard.HoverCard defaultOpen><HoverCard.HoverCardTrigger>Ada</HoverCard.HoverCardTrigger><HoverCard.HoverCardContent>Countess</HoverCard.HoverCardContent></HoverCard.HoverCard>
    <p>fruit: {fruit}; bar: {String(bar)}</p>
  </div>);""",
        {"check": "text", "text": "Choose one"},
        {"check": "text", "text": "Chosen before"},
        {"check": "role", "role": "tooltip", "name": "Keeps it"},
        {"check": "text", "text": "Countess"},
        click("combobox", "Fruit", {"role": "option", "name": "Pear"}),
        click("option", "Pear", {"text": "fruit: p"}),
        click("button", "View", {"role": "menu"}),
        click("menuitemcheckbox", "Status bar", {"text": "bar: true"}),
        click("button", "Size", {"text": "Width and height"}),
    ),
    "parts that open": page(
        ui("accordion", "collapsible", "tabs"),
        """return (
  <div>
    <Tabs.Tabs defaultValue="a"><Tabs.TabsList><Tabs.TabsTrigger value="a">First</Tabs.TabsTrigger><Tabs.TabsTrigger value="b">Second</Tabs.TabsTrigger></Tabs.TabsList>
      <Tabs.TabsContent value="a">one</Tabs.TabsContent><Tabs.TabsContent value="b">two</Tabs.TabsContent></Tabs.Tabs>
    <Accordion.Accordion type="single" collapsible><Accordion.AccordionItem value="q"><Accordion.AccordionTrigger>Why?</Accordion.AccordionTrigger><Accordion.AccordionContent>Because</Accordion.AccordionContent></Accordion.AccordionItem></Accordion.Accordion>
    <Collapsible.Collapsible><Collapsible.CollapsibleTrigger>More</Collapsible.CollapsibleTrigger><Collapsible.CollapsibleContent>And more</Collapsible.CollapsibleContent></Collapsible.Collapsible>
  </div>);""",
        {"check": "role", "role": "tab", "min": 2},
        click("tab", "Second", {"text": "two"}),
        click("button", "Why?", {"text": "Because"}),
        click("button", "Why?", {"no_text": "Because"}),
        click("button", "More", {"text": "And more"}),
    ),
    "the rest": page(
        ui("alert", "aspect-ratio", "avatar", "badge", "breadcrumb", "card", "pagination", "progress", "scroll-area")
        + "\n"
        + ui("separator", "skeleton", "table")
        + f"\n{LIST}",
        """return (
  <Card.Card><Card.CardHeader><Card.CardTitle>People</Card.CardTitle><Card.CardDescription>All of them</Card.CardDescription></Card.CardHeader>
    <Card.CardContent>
      <Alert.Alert><Alert.AlertTitle>Heads up</Alert.AlertTitle><Alert.AlertDescription>New here</Alert.AlertDescription></Alert.Alert>
      <ScrollArea.ScrollArea className="h-40"><Table.Table><Table.TableHeader><Table.TableRow><Table.TableHead>Name</Table.TableHead></Table.TableRow></Table.TableHeader>
        <Table.TableBody>{list.map((row) => <Table.TableRow key={row.id}><Table.TableCell>{row.name}</Table.TableCell></Table.TableRow>)}</Table.TableBody></Table.Table></ScrollArea.ScrollArea>
      <Badge.Badge variant="secondary">New</Badge.Badge><Progress.Progress value={40} aria-label="Done" /><Separator.Separator /><Skeleton.Skeleton className="h-4 w-20" />
      <Avatar.Avatar><Avatar.AvatarImage src="https://example.com/a.png" /><Avatar.AvatarFallback>AL</Avatar.AvatarFallback></Avatar.Avatar>
      <AspectRatio.AspectRatio ratio={16 / 9} />
      <Breadcrumb.Breadcrumb><Breadcrumb.BreadcrumbList><Breadcrumb.BreadcrumbItem><Breadcrumb.BreadcrumbLink href="#">Home</Breadcrumb.BreadcrumbLink></Breadcrumb.BreadcrumbItem><Breadcrumb.BreadcrumbSeparator /><Breadcrumb.BreadcrumbPage>Here</Breadcrumb.BreadcrumbPage></Breadcrumb.BreadcrumbList></Breadcrumb.Breadcrumb>
      <Pagination.Pagination><Pagination.PaginationContent><Pagination.PaginationItem><Pagination.PaginationNext href="#" /></Pagination.PaginationItem></Pagination.PaginationContent></Pagination.Pagination>
    </Card.CardContent></Card.Card>);""",
        {"check": "role", "role": "alert"},
        {"check": "role", "role": "table"},
        {"check": "role", "role": "row", "min": 3},
        {"check": "role", "role": "progressbar", "name": "Done"},
        {"check": "role", "role": "navigation", "name": "breadcrumb"},
        {"check": "role", "role": "link", "name": "Go to next page"},
        {"check": "text", "text": "AL"},
    ),
}


@pytest.mark.browser
def test_every_package_works_in_a_real_page(render: Judge) -> None:
    outcomes = render(*PAGES.values())
    for name, outcome in zip(PAGES, outcomes, strict=True):
        assert outcome.status is Status.OK, (name, messages(outcome))
        asked = PAGES[name][1]
        missed = {str(asked[i]): r.reason for i, r in enumerate(outcome.requirements) if not r.met}
        assert not missed, (name, missed)
        assert not outcome.diagnostics, (name, messages(outcome))


def test_every_stand_in_is_used_by_one_of_the_pages() -> None:
    used = set(re.findall(r'from "(@/components/ui/[\w-]+|[^"]+)"', "\n".join(code for code, _ in PAGES.values())))
    used |= {"recharts", "framer-motion", "react-dom", "react-dom/client", "react/jsx-runtime"}
    assert set(MODULES) - used <= {"zustand/shallow", "zustand/react/shallow"}
