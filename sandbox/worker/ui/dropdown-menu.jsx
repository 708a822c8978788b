import { createContext, useContext, useEffect, useRef, useState } from "react";
import { Floating, Mark, Pressable, Slot, box, moveFocus, useControlled, useDismiss } from "./parts.jsx";
import { cn } from "./utils.js";

const Menu = createContext(null);
const Choice = createContext(null);
const PANEL = "z-50 min-w-32 overflow-hidden rounded-md border bg-popover p-1 text-popover-foreground shadow-md";
const ITEM =
  "relative flex w-full cursor-default items-center gap-2 rounded-sm px-2 py-1.5 text-left text-sm outline-none select-none hover:bg-accent hover:text-accent-foreground focus:bg-accent focus:text-accent-foreground aria-disabled:pointer-events-none aria-disabled:opacity-50 [&_svg:not([class*='size-'])]:size-4";

export function DropdownMenu({ open, defaultOpen = false, onOpenChange, children }) {
  const [isOpen, setOpen] = useControlled(open, defaultOpen, onOpenChange);
  const trigger = useRef(null);
  return <Menu.Provider value={{ open: isOpen, setOpen, trigger }}>{children}</Menu.Provider>;
}

export function DropdownMenuTrigger(props) {
  const { open, setOpen, trigger } = useContext(Menu);
  const state = open ? "open" : "closed";
  return (
    <Pressable
      ref={trigger}
      aria-haspopup="menu"
      aria-expanded={open}
      data-state={state}
      {...props}
      press={() => setOpen(!open)}
    />
  );
}

export function DropdownMenuContent(props) {
  return useContext(Menu).open ? <OpenMenu {...props} /> : null;
}

function OpenMenu({ className, ...props }) {
  const { setOpen, trigger } = useContext(Menu);
  const own = useRef(null);
  useDismiss(true, () => setOpen(false), [own, trigger]);
  useEffect(() => own.current.focus(), []);
  return (
    <Floating
      anchor={trigger}
      ref={own}
      role="menu"
      tabIndex={-1}
      data-layer=""
      data-slot="dropdown-menu-content"
      data-state="open"
      onKeyDown={(event) => moveFocus(event, "[role^=menuitem]:not([aria-disabled=true])", "vertical")}
      className={cn(PANEL, "outline-none", className)}
      {...props}
    />
  );
}

export function DropdownMenuItem({ asChild, onSelect, onClick, disabled, inset, variant, className, role, ...props }) {
  const { setOpen } = useContext(Menu);
  const Tag = asChild ? Slot : "div";
  const choose = (event) => {
    onClick?.(event);
    onSelect?.(event);
    if (!event.defaultPrevented) setOpen(false);
  };
  return (
    <Tag
      role={role ?? "menuitem"}
      tabIndex={-1}
      aria-disabled={disabled || undefined}
      data-variant={variant}
      onClick={disabled ? undefined : choose}
      onKeyDown={(event) => (event.key === "Enter" || event.key === " ") && !disabled && choose(event)}
      className={cn(ITEM, inset && "pl-8", variant === "destructive" && "text-destructive", className)}
      {...props}
    />
  );
}

function Checked({ checked, role, children, className, ...props }) {
  return (
    <DropdownMenuItem role={role} aria-checked={checked} className={cn("pl-8", className)} {...props}>
      <span className="absolute left-2">{checked && <Mark name="check" />}</span>
      {children}
    </DropdownMenuItem>
  );
}

export function DropdownMenuCheckboxItem({ checked = false, onCheckedChange, onSelect, ...props }) {
  const toggle = (event) => {
    onSelect?.(event);
    onCheckedChange?.(!checked);
  };
  return <Checked role="menuitemcheckbox" checked={Boolean(checked)} onSelect={toggle} {...props} />;
}

export function DropdownMenuRadioGroup({ value, onValueChange, ...props }) {
  return (
    <Choice.Provider value={{ value, onValueChange }}>
      <div role="group" {...props} />
    </Choice.Provider>
  );
}

export function DropdownMenuRadioItem({ value, onSelect, ...props }) {
  const group = useContext(Choice);
  const choose = (event) => {
    onSelect?.(event);
    group.onValueChange?.(value);
  };
  return <Checked role="menuitemradio" checked={group.value === value} onSelect={choose} {...props} />;
}

export const DropdownMenuPortal = ({ children }) => children;
export const DropdownMenuGroup = box("div", "dropdown-menu-group", "", { role: "group" });
export const DropdownMenuLabel = box("div", "dropdown-menu-label", "px-2 py-1.5 text-sm font-medium");
export const DropdownMenuSeparator = box("div", "dropdown-menu-separator", "-mx-1 my-1 h-px bg-border", {
  role: "separator",
});
export const DropdownMenuShortcut = box(
  "span",
  "dropdown-menu-shortcut",
  "ml-auto text-xs tracking-widest text-muted-foreground",
);

const Sub = createContext(null);

export function DropdownMenuSub({ children }) {
  const [open, setOpen] = useState(false);
  return <Sub.Provider value={{ open, setOpen }}>{children}</Sub.Provider>;
}

export function DropdownMenuSubTrigger({ className, inset, children, ...props }) {
  const { open, setOpen } = useContext(Sub);
  return (
    <div
      role="menuitem"
      tabIndex={-1}
      aria-haspopup="menu"
      aria-expanded={open}
      onClick={() => setOpen(!open)}
      className={cn(ITEM, inset && "pl-8", className)}
      {...props}
    >
      {children}
      <Mark name="right" className="ml-auto" />
    </div>
  );
}

export function DropdownMenuSubContent({ className, ...props }) {
  return useContext(Sub).open ? <div role="menu" className={cn("pl-4", className)} {...props} /> : null;
}
