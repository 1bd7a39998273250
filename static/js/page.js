// What every page of the dashboard gets: copy buttons.

import { enableCopying } from "./copy.js";

enableCopying();
