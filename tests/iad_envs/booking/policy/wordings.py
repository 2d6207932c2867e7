"""Instructions in other words than the bundled tasks have, and what is to be read from them."""

from typing import NamedTuple


class Wording(NamedTuple):
    """An instruction, and its fields. Times are in minutes after midnight."""

    text: str
    restaurant: str
    city: str
    day: str
    minute: int
    party: int
    seating: str
    first_name: str
    last_name: str
    phone: str
    email: str
    moves: bool = False


# fmt: off
WORDINGS = (
    Wording("Could you book me in at Cafe Mirage, Eastport, on Saturday 14 March 2026 around 7:30 pm? There will be 4 "
            "of us. Name's Jo Lane, my number is 555-0142 and my mail jo.lane@example.org.",
        "Cafe Mirage", "Eastport", "2026-03-14", 1170, 4, "", "Jo", "Lane", "555-0142", "jo.lane@example.org"),
    Wording("We'd like dinner for six at The Lantern in Norwick, 18:30 on the 5th of May 2026, somewhere outdoors "
            "please. Booking name: Ada Quinn, tel. 555-0111, ada@example.org",
        "The Lantern", "Norwick", "2026-05-05", 1110, 6, "outdoor", "Ada", "Quinn", "555-0111", "ada@example.org"),
    Wording("Get a table for two at Old Cellar in Bellmere the day after tomorrow at 8pm. Sam Reed, 555-0177, "
            "sam.reed@example.org",
        "Old Cellar", "Bellmere", "2026-03-04", 1200, 2, "", "Sam", "Reed", "555-0177", "sam.reed@example.org"),
    Wording("Dinner reservation: Salt & Smoke (Port Alder), 2026-04-09, 19:15, 3 guests, by a window. Contact Mia "
            "Stone / 555-0160 / mia.stone@example.org.",
        "Salt & Smoke", "Port Alder", "2026-04-09", 1155, 3, "window", "Mia", "Stone", "555-0160",
        "mia.stone@example.org"),
    Wording("Please move my booking at Red Lantern in Marlow Heights on April 20 2026 from 7:00 PM to 8:30 PM. We're "
            "still 5 people. Tom Hale, 555-0133, tom.hale@example.org.",
        "Red Lantern", "Marlow Heights", "2026-04-20", 1230, 5, "", "Tom", "Hale", "555-0133",
        "tom.hale@example.org", True),
    Wording("Tomorrow evening at 6 pm I want to take a friend to Verbena in Santa Corva, so a table for 2 people in a "
            "booth would be great. I'm Lea Moon; phone 555-0121; email lea.moon@example.org.",
        "Verbena", "Santa Corva", "2026-03-03", 1080, 2, "booth", "Lea", "Moon", "555-0121", "lea.moon@example.org"),
    Wording("Reserve the terrace at Juniper Bar in Kestrel Falls for a party of 8 on June 1, 2026, 12:30 PM, under "
            "the name of Max Bell (555-0105, max.bell@example.org).",
        "Juniper Bar", "Kestrel Falls", "2026-06-01", 750, 8, "outdoor", "Max", "Bell", "555-0105",
        "max.bell@example.org"),
    Wording("I'm looking for a table at Honeycomb in Kestrel Falls on 3 June at 7 p.m. for 4 persons. Guest name Eva "
            "Wood, phone number 555-0118, e-mail address eva.wood@example.org.",
        "Honeycomb", "Kestrel Falls", "2026-06-03", 1140, 4, "", "Eva", "Wood", "555-0118", "eva.wood@example.org"),
    Wording("Reschedule our dinner at Sorrel in Norwick this Thursday: instead of 6:00 PM we come at 7:15 PM, the "
            "same 4 people. Iris Cole, 555-0148, iris.cole@example.org",
        "Sorrel", "Norwick", "2026-03-05", 1155, 4, "", "Iris", "Cole", "555-0148", "iris.cole@example.org", True),
    Wording("Tuesday next week, 1:15 PM, lunch for 3 people at Bistro Paprika in Santa Corva, inside. Put Ned Fox, "
            "555-0191, ned.fox@example.org.",
        "Bistro Paprika", "Santa Corva", "2026-03-10", 795, 3, "indoor", "Ned", "Fox", "555-0191",
        "ned.fox@example.org"),
    Wording("For my birthday on May 17 2026 I'd love to sit at the bar of Ginger Bar in Port Alder with one friend, "
            "so 2 people, at 9:00 PM. Nora Vale, nora.vale@example.org, 555-0109.",
        "Ginger Bar", "Port Alder", "2026-05-17", 1260, 2, "bar", "Nora", "Vale", "555-0109", "nora.vale@example.org"),
    Wording("Secure 5 seats at Bay Leaf, Kestrel Falls, on April 2nd 2026 for 5:45 PM. Details: Otto Kern, 555-0151, "
            "otto.kern@example.org.",
        "Bay Leaf", "Kestrel Falls", "2026-04-02", 1065, 5, "", "Otto", "Kern", "555-0151", "otto.kern@example.org"),
    Wording("Two weeks from today, 7 people, 6:45 PM, Larkspur & Sons in Norwick. Name: Pia Frost. Phone: 555-0155. "
            "Email: pia.frost@example.org.",
        "Larkspur & Sons", "Norwick", "2026-03-16", 1125, 7, "", "Pia", "Frost", "555-0155", "pia.frost@example.org"),
    Wording("Hi! My boss and I (2 people) need a quiet table at Chestnut in Santa Corva for lunch at 12:00 PM on "
            "March 19 2026. Rob Hart - 555-0166 - rob.hart@example.org",
        "Chestnut", "Santa Corva", "2026-03-19", 720, 2, "", "Rob", "Hart", "555-0166", "rob.hart@example.org"),
    Wording("I have a table at Vine House in Port Alder on May 8 2026 at 8:00 PM and need it at 6:30 PM; everything "
            "else stays, 4 people. Uma Pace, 555-0134, uma.pace@example.org. Cancel the old one.",
        "Vine House", "Port Alder", "2026-05-08", 1110, 4, "", "Uma", "Pace", "555-0134", "uma.pace@example.org", True),
    Wording("Book Taverna Lemon Grove in Bellmere. Day: 2026-06-11. Time: 20:15. People: 6. Seating: window table. "
            "First name: Kai. Last name: Lund. Phone: 555-0170. Email: kai.lund@example.org.",
        "Taverna Lemon Grove", "Bellmere", "2026-06-11", 1215, 6, "window", "Kai", "Lund", "555-0170",
        "kai.lund@example.org"),
    Wording("This Friday we want to celebrate at Black Fig in Port Alder. It's a group of 7, and 7:45 PM would suit "
            "us. Reservation for Gus Ray, 555-0182, gus.ray@example.org.",
        "Black Fig", "Port Alder", "2026-03-06", 1185, 7, "", "Gus", "Ray", "555-0182", "gus.ray@example.org"),
    Wording("Find us a spot at Nutmeg House (Kestrel Falls): 4 people, 14 June 2026, half outside if you like, no "
            "earlier than 6:30 PM. Zoe Park, 555-0138, zoe.park@example.org",
        "Nutmeg House", "Kestrel Falls", "2026-06-14", 1110, 4, "outdoor", "Zoe", "Park", "555-0138",
        "zoe.park@example.org"),
    Wording("Change my reservation at Copper Pot in Marlow Heights next week Wednesday to 8:00 PM; it was 7:00 PM. 2 "
            "people. Ben Ash, 555-0129, ben.ash@example.org",
        "Copper Pot", "Marlow Heights", "2026-03-11", 1200, 2, "", "Ben", "Ash", "555-0129", "ben.ash@example.org",
        True),
    Wording("A table at Peppercorn Garden, Santa Corva; May 25 2026; 1:30 PM; 1 person; Ida Berg; 555-0103; "
            "ida.berg@example.org",
        "Peppercorn Garden", "Santa Corva", "2026-05-25", 810, 1, "", "Ida", "Berg", "555-0103",
        "ida.berg@example.org"),
    Wording("Let's eat at Mulberry & Sons in Bellmere in three weeks, I mean three weeks from today, at 6:15 PM with "
            "5 people, ideally a booth. Hal York, 555-0196, hal.york@example.org",
        "Mulberry & Sons", "Bellmere", "2026-03-23", 1095, 5, "booth", "Hal", "York", "555-0196",
        "hal.york@example.org"),
    Wording("Could I have a table for 3 tomorrow, 12:45 PM, at Kitchen Wild Thyme in Norwick? Yours, Finn Dale, "
            "555-0187, finn.dale@example.org",
        "Kitchen Wild Thyme", "Norwick", "2026-03-03", 765, 3, "", "Finn", "Dale", "555-0187", "finn.dale@example.org"),
    Wording("Plans have changed: my booking at Honeycomb in Port Alder on June 2 2026 was for 6:00 PM, please make it "
            "7:00 PM, 3 people, bar seats. Amy Dunn, 555-0172, amy.dunn@example.org",
        "Honeycomb", "Port Alder", "2026-06-02", 1140, 3, "bar", "Amy", "Dunn", "555-0172", "amy.dunn@example.org",
        True),
    Wording("On Sunday, 22 March 2026, eight of us go to Bistro Olivo in Port Alder; reserve for 17:30, patio. Lou "
            "Kidd, lou.kidd@example.org, phone 555-0115",
        "Bistro Olivo", "Port Alder", "2026-03-22", 1050, 8, "outdoor", "Lou", "Kidd", "555-0115",
        "lou.kidd@example.org"),
    Wording("Need: restaurant The Silver Perch, Marlow Heights. When: April 30, 8:15 PM. Who: 4 people, Val Orr, +1 "
            "555-0126, val.orr@example.org. Where to sit: indoors.",
        "The Silver Perch", "Marlow Heights", "2026-04-30", 1215, 4, "indoor", "Val", "Orr", "+1 555-0126",
        "val.orr@example.org"),
)
# fmt: on
