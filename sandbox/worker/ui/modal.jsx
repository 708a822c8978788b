// What Dialog, AlertDialog and Sheet have in common: a layer over the whole page that takes the focus.
import { createContext, useContext, useEffect, useId, useRef } from "react";
import { createPortal } from "react-dom";
import { Mark, Pressable, useControlled, useDismiss } from "./parts.jsx";
import { cn } from "./utils.js";

const Modal = createContext(null);

export function ModalRoot({ open, defaultOpen = false, onOpenChange, children }) {
  const [isOpen, setOpen] = useControlled(open, defaultOpen, onOpenChange);
  return <Modal.Provider value={{ open: isOpen, setOpen, id: useId() }}>{children}</Modal.Provider>;
}

export function ModalTrigger(props) {
  const { open, setOpen } = useContext(Modal);
  const state = open ? "open" : "closed";
  return (
    <Pressable aria-haspopup="dialog" aria-expanded={open} data-state={state} {...props} press={() => setOpen(true)} />
  );
}

export function ModalClose(props) {
  const { setOpen } = useContext(Modal);
  return <Pressable {...props} press={() => setOpen(false)} />;
}

export const ModalPortal = ({ children }) => children;

export function ModalOverlay({ className, ...props }) {
  return useContext(Modal).open ? (
    <div data-state="open" className={cn("fixed inset-0 z-50 bg-black/50", className)} {...props} />
  ) : null;
}

export function ModalContent(props) {
  return useContext(Modal).open ? <OpenModal {...props} /> : null;
}

function OpenModal({ className, children, role = "dialog", closable = true, forced = false, ...props }) {
  const { setOpen, id } = useContext(Modal);
  const own = useRef(null);
  useDismiss(true, () => forced || setOpen(false), [own]);
  useEffect(() => {
    const before = document.activeElement;
    own.current.focus();
    return () => before?.focus?.();
  }, []);
  return createPortal(
    <>
      <ModalOverlay />
      <div
        ref={own}
        role={role}
        aria-modal="true"
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-description`}
        tabIndex={-1}
        data-layer=""
        data-state="open"
        className={cn("fixed z-50 grid gap-4 bg-background outline-none", className)}
        {...props}
      >
        {children}
        {closable && (
          <ModalClose className="absolute top-4 right-4 rounded-xs opacity-70 outline-none hover:opacity-100 focus-visible:ring-2 focus-visible:ring-ring">
            <Mark name="close" />
            <span className="sr-only">Close</span>
          </ModalClose>
        )}
      </div>
    </>,
    document.body,
  );
}

export function ModalTitle({ className, ...props }) {
  const { id } = useContext(Modal);
  return <h2 id={`${id}-title`} className={cn("text-lg leading-none font-semibold", className)} {...props} />;
}

export function ModalDescription({ className, ...props }) {
  const { id } = useContext(Modal);
  return <p id={`${id}-description`} className={cn("text-sm text-muted-foreground", className)} {...props} />;
}

export const CENTRED =
  "top-1/2 left-1/2 w-full max-w-[calc(100%-2rem)] -translate-x-1/2 -translate-y-1/2 rounded-lg border p-6 shadow-lg sm:max-w-lg";
