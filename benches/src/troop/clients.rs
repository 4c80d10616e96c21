//! The five applications and their clients.

use super::{Application, Notation};

const fn client(text: &'static str, histories: [u64; 3], seconds: u64) -> Notation {
    Notation { text, histories, seconds }
}

/// Every application, in TrOOP's order.
pub const APPLICATIONS: &[Application] = &[COURSEWARE, CART, TWITTER, TPCC, WIKIPEDIA];

const COURSEWARE: Application = Application {
    name: "courseware",
    setup: include_str!("../../troop/courseware.sql"),
    words: &[
        ("e", "enroll"),
        ("g", "get_enrollments"),
        ("open", "open_course"),
        ("close", "close_course"),
        ("del", "delete_course"),
    ],
    names: &[],
    clients: [
        client("e(1,1);g;e(1,2) | e(2,1);g;del(2) | e(2,1);close(1);del(1)", [48, 27, 9], 3),
        client("g;e(1,1);g | g;e(2,1);g | g;del(1);g", [12, 11, 6], 5),
        client("open(3);e(2,3);del(3) | open(3);e(4,3);del(3) | open(3);e(0,3);del(3)", [370, 54, 3], 7),
        client("open(3);e(2,3);g | del(3);e(0,3);g | close(3);e(4,3);g", [18, 5, 1], 2),
        client("del(3);e(0,3);g | open(3);e(2,3);g | open(3);e(2,3);del(3)", [34, 1, 1], 3),
    ],
};

const CART: Application = Application {
    name: "cart",
    setup: include_str!("../../troop/cart.sql"),
    words: &[
        ("add", "add_item"),
        ("rm", "remove_item"),
        ("get", "get_item"),
        ("qty", "get_quantity"),
        ("list", "get_list"),
        ("ch", "change_quantity"),
    ],
    names: &[],
    clients: [
        client("rm(0);list;qty(2) | ch(1,10);list;get(1) | add(5,3);qty(0);list", [32, 3, 1], 3),
        client("rm(0);qty(2);ch(1,18) | ch(1,10);get(1);add(6) | add(5,3);list;ch(6,666)", [174, 20, 1], 4),
        client("rm(6);ch(6,10);get(6) | add(6);ch(6,0);get(6) | get(6);ch(6,30);list", [77, 34, 14], 4),
        client("add(6);rm(6);ch(6,0) | add(6);rm(6);ch(6,100) | add(6);rm(6);ch(6,200)", [445, 226, 1], 6),
        client("rm(7);add(6);ch(6,2) | ch(6,10);ch(7,0);ch(6,0) | rm(6);add(7);ch(7,2)", [170, 68, 10], 5),
    ],
};

const TWITTER: Application = Application {
    name: "twitter",
    setup: include_str!("../../troop/twitter.sql"),
    words: &[
        ("pub", "publish_tweet"),
        ("tl", "get_timeline"),
        ("fol", "follow"),
        ("fers", "get_followers"),
        ("feed", "get_newsfeed"),
    ],
    names: &[
        ("a", "48954574"),
        ("b", "45096855"),
        ("c", "7179295"),
        ("d", "3110559"),
        ("e", "26427248"),
        ("f", "47327392"),
        ("h", "48280880"),
        ("i", "20850125"),
        ("j", "50910006"),
    ],
    clients: [
        client("pub(#,a);tl(c);tl(d) | fol(c,b);tl(d);fers(b) | fol(c,e);fers(e);feed(c)", [16, 10, 3], 3),
        client("fol(h,a);tl(c);pub(#,a) | pub(#,f);fers(b);fol(b,i) | fol(c,e);feed(d);pub(#,j)", [59, 5, 1], 4),
        client("fol(h,a);tl(h);pub(#,h) | fol(h,a);tl(h);pub(#,h) | fol(h,a);tl(h);pub(#,h)", [114, 36, 6], 5),
        client("pub(#,a);pub(#,a);pub(#,a) | pub(#,a);pub(#,a);pub(#,a) | feed(a);feed(a);feed(a)", [1995, 84, 84], 77),
        client("pub(#,e);pub(#,c);pub(#,e) | pub(#,c);pub(#,e);pub(#,c) | tl(c);tl(e);feed(a)", [1995, 84, 84], 69),
    ],
};

const TPCC: Application = Application {
    name: "tpcc",
    setup: include_str!("../../troop/tpcc.sql"),
    words: &[
        ("SL", "stock_level"),
        ("OS", "order_status"),
        ("NO", "create_new_order"),
        ("PAY", "payment"),
        ("PAYN", "payment_by_name"),
        ("DEL", "delivery"),
    ],
    names: &[("Piti", "'Patin Piti'")],
    clients: [
        client(
            "SL(0,1);OS(0,1,Piti);NO(1,1,3322466,666,1) | PAYN(1,1,Chikilicuatre,10);SL(1,1);DEL(1) | \
             DEL(0);PAY(0,1,33496,20);SL(0,1)",
            [22, 1, 1],
            8,
        ),
        client(
            "SL(0,1);OS(0,1,Piti);NO(1,1,3322466,234,1) | PAYN(1,1,Noether,10);DEL(1);SL(1,1) | \
             PAYN(1,1,Chikilicuatre,20);SL(1,1);DEL(1)",
            [88, 2, 2],
            15,
        ),
        client(
            "PAY(1,1,20027,10);SL(1,1);DEL(1) | PAY(1,1,20027,20);SL(1,1);DEL(1) | \
             SL(0,1);OS(0,1,Piti);NO(1,1,3322466,123,0)",
            [63, 5, 1],
            9,
        ),
        client(
            "PAYN(1,1,Chikilicuatre,10);PAY(0,1,33496,20);PAYN(1,1,Noether,30) | \
             PAYN(1,1,Chikilicuatre,10);PAY(0,1,33496,20);PAYN(1,1,Noether,30) | \
             PAYN(1,1,Chikilicuatre,10);PAY(0,1,33496,20);PAYN(1,1,Noether,30)",
            [105, 22, 1],
            11,
        ),
        client(
            "NO(1,1,87765,123,0);NO(1,0,87765,234,1);DEL(1) | DEL(1);DEL(1);NO(1,0,87765,77,0) | \
             NO(1,0,87765,77,0);DEL(1);NO(1,0,87765,123,0)",
            [1108, 57, 5],
            88,
        ),
    ],
};

const WIKIPEDIA: Application = Application {
    name: "wikipedia",
    setup: include_str!("../../troop/wikipedia.sql"),
    words: &[
        ("aw", "add_watch"),
        ("rw", "remove_watch"),
        ("ga", "get_page_anonymous"),
        ("gu", "get_page_authenticated"),
        ("up", "update_page"),
    ],
    names: &[],
    clients: [
        client(
            "rw(111,0,Paris);gu(2324,0,Paris);up(2324,0,Rome) | aw(68,0,Paris);gu(777,0,Athens);aw(68,1,Rome) | \
             up(2324,0,Paris);ga(0,Paris);aw(2324,0,Paris)",
            [32, 2, 2],
            6,
        ),
        client(
            "rw(111,0,Madrid);aw(111,1,Lisbon);up(2324,1,Lisbon) | gu(68,0,Madrid);aw(2324,0,Paris);up(2324,0,Paris) | \
             up(2324,0,Paris);ga(1,Lisbon);aw(1,0,Paris)",
            [138, 3, 1],
            12,
        ),
        client(
            "rw(777,0,Athens);rw(111,0,Lisbon);ga(0,Lisbon) | up(2324,0,Paris);ga(0,Paris);aw(2324,0,Paris) | \
             aw(68,0,Paris);gu(777,0,Athens);aw(68,1,Rome)",
            [156, 1, 1],
            9,
        ),
        client(
            "up(2324,0,Paris);gu(2324,1,Paris);gu(68,0,Madrid) | up(2324,0,Paris);gu(111,0,Lisbon);gu(2324,1,Paris) | \
             up(2324,0,Paris);ga(0,Paris);ga(0,Athens)",
            [53, 12, 1],
            9,
        ),
        client(
            "aw(2324,0,Paris);aw(111,0,Paris);aw(777,0,Paris) | rw(2324,0,Paris);aw(2324,0,Paris);rw(2324,0,Paris) | \
             aw(777,0,Paris);rw(777,0,Paris);aw(777,0,Paris)",
            [3208, 2, 1],
            52,
        ),
    ],
};
