//! The rules of Django, Prisma and SQL, one by one: what their documentation says happens, and what we prove.

#![allow(clippy::unwrap_used)]

mod common;

use isolde_datamodel::Framework;
use isolde_datamodel::logic::{Limits, Semantics};
use isolde_datamodel::read::{self, File};

/// The letters of the verdicts about one file: holds, fails, unknown.
fn check(framework: Framework, file: &str, text: &str, properties: &str, expected: &str) {
    let model = read::read(framework, &[File::new(file, text)]);
    let found = common::verdicts(&model, properties, Semantics::of(framework), Limits::default(), &common::solver());
    assert_eq!(common::letters(&found), expected, "{model}\n{found:#?}");
}

fn django(models: &str, properties: &str, expected: &str) {
    let text = format!("from django.db import models\n{}", common::unindented(models));
    check(Framework::Django, "shop/models.py", &text, properties, expected);
}

fn prisma(models: &str, properties: &str, expected: &str) {
    check(Framework::Prisma, "schema.prisma", &common::unindented(models), properties, expected);
}

fn sql(tables: &str, properties: &str, expected: &str) {
    check(Framework::Sql, "tables.sql", &common::unindented(tables), properties, expected);
}

/// One class that names another, with these options.
fn song(options: &str) -> String {
    format!(
        "class Artist(models.Model):
    name = models.CharField(max_length=10)
class Song(models.Model):
    artist = models.ForeignKey(Artist, {options}, related_name=\"songs\")
"
    )
}

#[test]
fn django_cascade_takes_along_what_names_it() {
    django(
        &song("on_delete=models.CASCADE"),
        "delete propagates Artist to Song.artist\nno dangling Song.artist after Artist\nafter delete a: Artist | not refused and not raises\nno delete propagation Song to Artist",
        "yyyy",
    );
}

#[test]
fn django_protect_refuses_whatever_else_goes() {
    django(
        &song("on_delete=models.PROTECT"),
        "after delete a: Artist | refused iff some old a.songs\nno delete propagation Artist to Song\nafter delete a: Artist | not raises",
        "yyy",
    );
}

/// The example of Django's documentation for RESTRICT: a song restricts its album, but both go with their artist.
const ALBUMS: &str = "
    class Artist(models.Model):
        name = models.CharField(max_length=10)
    class Album(models.Model):
        artist = models.ForeignKey(Artist, on_delete=models.CASCADE, related_name=\"albums\")
    class Song(models.Model):
        artist = models.ForeignKey(Artist, on_delete=models.CASCADE, related_name=\"songs\")
        album = models.ForeignKey(Album, on_delete=models.RESTRICT, related_name=\"songs\")
";

#[test]
fn django_restrict_lets_go_what_goes_anyway_and_protect_does_not() {
    django(ALBUMS, "after delete a: Album | refused iff some old a.songs", "y");
    // Refused only because of a song by somebody else.
    let others =
        "after delete a: Artist | refused iff (some s: old Song | s.album in old a.albums and old s.artist != a)";
    django(ALBUMS, &format!("{others}\nafter delete a: Artist | not raises"), "yy");
    let protected = ALBUMS.replace("RESTRICT", "PROTECT");
    django(&protected, "after delete a: Artist | refused iff some old a.albums.songs", "y");
}

#[test]
fn django_set_null_cuts_off() {
    django(
        &song("on_delete=models.SET_NULL, null=True"),
        "no dangling Song.artist after Artist\nno delete propagation Artist to Song\nafter delete a: Artist | all s: Song | s in old a.songs implies no s.artist\nafter delete a: Artist | not raises",
        "yyyy",
    );
    // Django's own checks refuse this; the database does, too.
    django(&song("on_delete=models.SET_NULL"), "after delete a: Artist | not raises", "n");
}

#[test]
fn django_do_nothing_leaves_it_to_the_database() {
    django(
        &song("on_delete=models.DO_NOTHING"),
        "after delete a: Artist | raises iff some old a.songs\nno dangling Song.artist after Artist",
        "yy",
    );
    django(
        &song("on_delete=models.DO_NOTHING, db_constraint=False"),
        "after delete a: Artist | not raises\nno dangling Song.artist after Artist",
        "yn",
    );
}

#[test]
fn django_do_nothing_is_no_error_if_the_rows_go_by_another_way() {
    // Foreign keys are deferred: at the end of the transaction nothing names what is gone.
    let models = ALBUMS.replace("RESTRICT", "DO_NOTHING");
    let same = "assume all s: Song | s.artist = s.album.artist\n";
    django(&models, &format!("{same}after delete a: Artist | not raises"), "y");
    django(&models, "after delete a: Artist | not raises", "n");
}

#[test]
fn django_deletes_of_the_database_pass_over_the_application() {
    django(
        &song("on_delete=models.DB_CASCADE"),
        "delete propagates Artist to Song.artist\nafter delete a: Artist | not raises",
        "yy",
    );
    // A PROTECT further down is never asked; the foreign key behind it refuses.
    let models = "
        class Artist(models.Model):
            name = models.CharField(max_length=10)
        class Song(models.Model):
            artist = models.ForeignKey(Artist, on_delete=models.DB_CASCADE, related_name=\"songs\")
        class Award(models.Model):
            song = models.ForeignKey(Song, on_delete=models.PROTECT, related_name=\"awards\")
    ";
    django(
        models,
        "after delete a: Artist | not refused\nafter delete a: Artist | raises iff some old a.songs.awards",
        "yy",
    );
}

#[test]
fn django_rows_of_many_to_many_go_with_either_side() {
    let both = |name: &str| {
        format!(
            "
        class Tag(models.Model):
            name = models.CharField(max_length=10)
        class Song(models.Model):
            tags = models.ManyToManyField(Tag, related_name=\"{name}\")
        "
        )
    };
    let properties = "after delete t: Tag | all s: Song | t not in s.tags\nno delete propagation Tag to Song\nno delete propagation Song to Tag\nafter delete t: Tag | not raises\nafter delete s: Song | not raises";
    django(&both("songs"), properties, "yyyyy");
    // Whether or not there is a name for the way back.
    django(&both("+"), properties, "yyyyy");
    let itself = "
        class Person(models.Model):
            friends = models.ManyToManyField(\"self\")
    ";
    django(itself, "after delete p: Person | not raises\nno delete propagation Person to Person", "yy");
}

#[test]
fn django_a_through_model_is_a_model() {
    let models = "
        class Person(models.Model):
            name = models.CharField(max_length=10)
        class Group(models.Model):
            members = models.ManyToManyField(Person, through=\"Membership\", related_name=\"groups\")
        class Membership(models.Model):
            person = models.ForeignKey(Person, on_delete=models.CASCADE)
            group = models.ForeignKey(Group, on_delete=models.PROTECT)
    ";
    django(
        models,
        "delete propagates Person to Membership.person\nno delete propagation Person to Group\nafter delete g: Group | refused iff some old g.members",
        "yyy",
    );
}

#[test]
fn django_one_to_one_is_at_most_one_and_cascades() {
    let models = "
        class User(models.Model):
            name = models.CharField(max_length=10)
        class Profile(models.Model):
            user = models.OneToOneField(User, on_delete=models.CASCADE)
    ";
    django(
        models,
        "all u: User | lone u.profile\nalways related Profile.user\nalways related User.profile\nno dangling Profile.user after User",
        "yyny",
    );
}

#[test]
fn django_fields_of_abstract_bases_are_those_of_each_class_below() {
    let models = "
        class Owner(models.Model):
            name = models.CharField(max_length=10)
        class Owned(models.Model):
            owner = models.ForeignKey(Owner, on_delete=models.CASCADE)
            class Meta:
                abstract = True
        class Car(Owned):
            pass
        class House(Owned):
            owner = models.ForeignKey(Owner, on_delete=models.PROTECT)
    ";
    django(
        models,
        "delete propagates Owner to Car.owner\nafter delete o: Owner | refused iff some h: old House | old h.owner = o",
        "yy",
    );
}

#[test]
fn django_generic_relations_cascade_and_their_absence_leaves_rows() {
    let models = "
        from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
        from django.contrib.contenttypes.models import ContentType
        class Tag(models.Model):
            content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
            object_id = models.PositiveIntegerField()
            content_object = GenericForeignKey(\"content_type\", \"object_id\")
        class Song(models.Model):
            tags = GenericRelation(Tag)
    ";
    django(models, "no dangling Tag.content_object after Song\nafter delete s: Song | gone old s.tags", "yy");
    // Nobody says what a tag may name: nothing is claimed.
    django(&models.replace("tags = GenericRelation(Tag)", "pass"), "no dangling Tag.content_object after Song", "?");
}

/// One model that names another, optional or not, with these options.
fn post(optional: bool, options: &str, source: &str) -> String {
    let mark = if optional { "?" } else { "" };
    format!(
        "datasource db {{
  provider = \"postgresql\"
  {source}
}}
model User {{
  id    Int    @id
  posts Post[]
}}
model Post {{
  id     Int  @id
  user   User{mark} @relation(fields: [userId], references: [id]{options})
  userId Int{mark}
}}
"
    )
}

const EMULATED: &str = "relationMode = \"prisma\"";

#[test]
fn prisma_defaults_depend_on_whether_the_relation_is_optional() {
    let properties =
        "after delete u: User | not raises\nno delete propagation User to Post\nno dangling Post.user after User";
    prisma(&post(true, "", ""), properties, "yyy");
    prisma(&post(false, "", ""), properties, "nyy");
    prisma(&post(false, "", ""), "after delete u: User | raises iff some old u.posts", "y");
}

#[test]
fn prisma_actions_are_those_of_the_database() {
    prisma(
        &post(false, ", onDelete: Cascade", ""),
        "delete propagates User to Post.user\nafter delete u: User | not raises",
        "yy",
    );
    prisma(
        &post(true, ", onDelete: SetNull", ""),
        "no dangling Post.user after User\nno delete propagation User to Post",
        "yy",
    );
    prisma(&post(true, ", onDelete: NoAction", ""), "after delete u: User | raises iff some old u.posts", "y");
    prisma(&post(true, ", onDelete: Restrict", ""), "after delete u: User | raises iff some old u.posts", "y");
    // A required column cannot be emptied.
    prisma(&post(false, ", onDelete: SetNull", ""), "after delete u: User | not raises", "n");
}

#[test]
fn prisma_emulates_them_without_foreign_keys_but_for_no_action() {
    let properties = "no dangling Post.user after User\nafter delete u: User | not refused and not raises";
    prisma(&post(false, ", onDelete: Cascade", EMULATED), properties, "yy");
    prisma(&post(true, "", EMULATED), properties, "yy");
    prisma(&post(false, "", EMULATED), properties, "yn");
    prisma(&post(false, ", onDelete: NoAction", EMULATED), properties, "ny");
}

#[test]
fn prisma_rows_of_many_to_many_go_with_either_side() {
    let models = "
        model Post {
          id   Int   @id
          tags Tag[]
        }
        model Tag {
          id    Int    @id
          posts Post[]
        }
    ";
    prisma(
        models,
        "after delete t: Tag | all p: Post | t not in p.tags\nno delete propagation Tag to Post\nafter delete t: Tag | not raises",
        "yyy",
    );
}

#[test]
fn sql_cascades_go_on_from_table_to_table() {
    let tables = "
        CREATE TABLE person (id int PRIMARY KEY);
        CREATE TABLE post (id int PRIMARY KEY, author_id int NOT NULL REFERENCES person ON DELETE CASCADE);
        CREATE TABLE likes (id int PRIMARY KEY, post_id int NOT NULL REFERENCES post ON DELETE CASCADE);
    ";
    sql(
        tables,
        "delete propagates person to post.author_id\nafter delete p: person | all l: old likes | old l.post_id.author_id = p implies gone l\nafter delete p: person | not raises",
        "yyy",
    );
    let stopped = tables.replace("REFERENCES post ON DELETE CASCADE", "REFERENCES post");
    sql(&stopped, "after delete p: person | not raises\nno dangling likes.post_id after person", "ny");
}

#[test]
fn sql_no_action_waits_for_the_end_of_the_statement_and_restrict_does_not() {
    // A reply names a post of the same author, and goes with it.
    let tables = "
        CREATE TABLE person (id int PRIMARY KEY);
        CREATE TABLE post (id int PRIMARY KEY, author_id int NOT NULL REFERENCES person ON DELETE CASCADE);
        CREATE TABLE reply (id int PRIMARY KEY, author_id int NOT NULL REFERENCES person ON DELETE CASCADE, post_id int NOT NULL REFERENCES post ON DELETE NO ACTION);
    ";
    let own = "assume all r: reply | r.author_id = r.post_id.author_id\n";
    sql(
        tables,
        &format!("{own}possible after delete p: person | not raises and some r: old reply | old r.author_id = p"),
        "y",
    );
}

#[test]
fn sql_set_null_fails_where_the_column_is_not_null() {
    let tables = |null: &str| {
        format!(
            "
        CREATE TABLE person (id int PRIMARY KEY);
        CREATE TABLE post (id int PRIMARY KEY, author_id int {null} REFERENCES person ON DELETE SET NULL);
        "
        )
    };
    sql(
        &tables(""),
        "after delete p: person | not raises\nno dangling post.author_id after person\nno delete propagation person to post",
        "yyy",
    );
    sql(&tables("NOT NULL"), "after delete p: person | not raises", "n");
}
