import { createContext, useContext, useState } from "react";
import { cn } from "./utils.js";

const Picture = createContext(null);

export function Avatar({ className, ...props }) {
  const [loaded, setLoaded] = useState(false);
  return (
    <Picture.Provider value={{ loaded, setLoaded }}>
      <span
        data-slot="avatar"
        className={cn("relative flex size-8 shrink-0 overflow-hidden rounded-full", className)}
        {...props}
      />
    </Picture.Provider>
  );
}

export function AvatarImage({ className, alt = "", ...props }) {
  const { loaded, setLoaded } = useContext(Picture);
  return (
    <img
      data-slot="avatar-image"
      alt={alt}
      hidden={!loaded}
      onLoad={() => setLoaded(true)}
      className={cn("aspect-square size-full", className)}
      {...props}
    />
  );
}

export function AvatarFallback({ className, delayMs, ...props }) {
  return useContext(Picture).loaded ? null : (
    <span
      data-slot="avatar-fallback"
      className={cn("flex size-full items-center justify-center rounded-full bg-muted text-sm", className)}
      {...props}
    />
  );
}
