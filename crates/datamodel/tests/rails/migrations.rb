# Migrations only: run one after another, in the order of their time stamps.
# file: app/models/models.rb
class User < ApplicationRecord; has_many :posts; end
class Post < ApplicationRecord; belongs_to :user; belongs_to :topic; end
class Topic < ApplicationRecord; end
# file: db/migrate/20200102_change.rb
class Change < ActiveRecord::Migration[6.0]
  def up
    add_reference :posts, :topic, null: false, foreign_key: { on_delete: :cascade }
    change_column_null :posts, :user_id, true
    remove_foreign_key :posts, :users
    add_foreign_key :posts, :users, on_delete: :nullify
    rename_table :subjects, :topics
    add_index :posts, [:user_id, :topic_id], unique: true
    execute "ALTER TABLE posts ADD CHECK (true)"
  end
  def down
    drop_table :posts
  end
end
# file: db/migrate/20200101_create.rb
class Create < ActiveRecord::Migration[6.0]
  def change
    create_table(:users) { |t| t.string :name }
    create_table :subjects
    create_table :posts do |t|
      t.references :user, null: false, foreign_key: true
    end
  end
end
