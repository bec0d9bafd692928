// What is pleasant but never needed: every page works without it.
"use strict";

// "/" goes to the search field, unless somebody is typing.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.getElementById("q");
  event.preventDefault();
  if (field) field.select();
  else if (document.querySelector(".top")) location.assign("/console/search");
});

// Times are told in UTC; how long ago that was stands in the title.
const ago = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
for (const time of document.querySelectorAll("time[datetime]")) {
  const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
  if (Number.isNaN(seconds)) continue;
  const [unit, length] = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]].find(([, size]) => Math.abs(seconds) >= size) || ["second", 1];
  time.title = ago.format(Math.round(seconds / length), unit);
}
