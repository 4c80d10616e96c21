"use strict";
// Walks through runs step by step, and copies commands. The page is complete without it.
for (const run of document.querySelectorAll(".run")) {
  const walk = run.querySelector(".walk");
  if (!walk) continue;
  const slider = walk.querySelector("input");
  const last = Number(slider.max);
  const show = () => {
    const at = Number(slider.value);
    run.classList.toggle("walking", at < last);
    for (const row of run.querySelectorAll(".steps tr[data-step]")) {
      const step = Number(row.dataset.step);
      row.classList.toggle("later", step > at);
      row.classList.toggle("now", step === at);
    }
    for (const moment of walk.querySelectorAll(".moment")) {
      moment.classList.toggle("shown", Number(moment.dataset.step) === at);
    }
    const words = at === 0 ? "at the start" : at === last ? "at the end" : `after step ${at}`;
    walk.querySelector(".where").textContent = words;
    slider.setAttribute("aria-valuetext", words);
  };
  const go = (by) => {
    slider.value = Number(slider.value) + by;
    show();
  };
  slider.addEventListener("input", show);
  walk.querySelector(".back").addEventListener("click", () => go(-1));
  walk.querySelector(".on").addEventListener("click", () => go(1));
  run.walk = go;
  walk.hidden = false;
  show();
}

// The arrow keys belong to the run that is on the screen.
document.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest("input, textarea")) return;
  const seen = (run) => {
    const box = run.getBoundingClientRect();
    return Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
  };
  const runs = [...document.querySelectorAll(".run")].filter((run) => run.walk && seen(run) > 0);
  if (runs.length === 0) return;
  runs.reduce((best, run) => (seen(run) > seen(best) ? run : best)).walk(by);
  event.preventDefault();
});

for (const button of document.querySelectorAll(".copy")) {
  const code = button.parentElement.querySelector("code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      // Not every browser lets a local file use the clipboard: select it, so that Ctrl-C does.
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}
