// The spent token leaves the address bar, and with it the history.
history.replaceState(null, "", "/");

// Keys reach the console without a click. Not before it has drawn: the socket takes nothing yet.
const drawn = () => document.body.classList.contains("-first-byte");
const focusTerminal = () => {
  const typed = document.querySelector(".xterm-helper-textarea");
  if (typed && drawn()) typed.focus();
};
window.addEventListener("focus", focusTerminal);
window.addEventListener("DOMContentLoaded", () => {
  new MutationObserver((_, watched) => {
    if (!drawn()) return;
    watched.disconnect();
    focusTerminal();
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
});

// The terminal would send ctrl+v as a control character: left to the browser, it pastes.
window.addEventListener("keydown", (pressed) => {
  const pastes = pressed.ctrlKey && !pressed.altKey && !pressed.metaKey;
  if (pastes && pressed.key.toLowerCase() === "v") pressed.stopImmediatePropagation();
}, true);
