# A join table is one, whichever side declares it; a class may be joined with itself.
# file: app/models/models.rb
class Role < ActiveRecord::Base
  has_and_belongs_to_many :users
  has_and_belongs_to_many :rights, :join_table => "grants"
end
class User < ActiveRecord::Base
  has_and_belongs_to_many :roles
end
class Right < ActiveRecord::Base; end
class Product < ActiveRecord::Base
  has_and_belongs_to_many :related, class_name: "Product", join_table: "related", foreign_key: "a_id", association_foreign_key: "b_id"
  has_and_belongs_to_many :relating, class_name: "Product", join_table: "related", foreign_key: "b_id", association_foreign_key: "a_id"
end
# file: db/schema.rb
ActiveRecord::Schema.define(version: 1) do
  create_table "roles_users", id: false do |t|
    t.bigint "role_id", null: false
    t.bigint "user_id", null: false
  end
  create_table "grants", id: false do |t|
    t.bigint "role_id"
    t.bigint "right_id"
  end
  add_foreign_key "roles_users", "roles", on_delete: :cascade
  add_foreign_key "roles_users", "users", on_delete: :cascade
  add_foreign_key "grants", "roles", on_delete: :cascade
  add_foreign_key "grants", "rights"
end
